/* Helpers of the cases. */
#ifndef OXBOW_TESTS_C_API_SUPPORT_H
#define OXBOW_TESTS_C_API_SUPPORT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases.h"

#define CHECK(expression)                                            \
  do {                                                               \
    if (!(expression)) test_failed(__FILE__, __LINE__, #expression); \
  } while (0)
/* Ends the case. */
#define REQUIRE(expression)                         \
  do {                                              \
    if (!(expression)) {                            \
      test_failed(__FILE__, __LINE__, #expression); \
      return;                                       \
    }                                               \
  } while (0)
#define OK(call) REQUIRE((call) == OXBOW_OK)
/* The call fails with this status, and the thread's error text holds `part`. */
#define FAILS(call, status, part)                      \
  do {                                                 \
    CHECK((call) == (status));                         \
    CHECK(strstr(oxbow_last_error(), (part)) != NULL); \
  } while (0)

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* A model of tests/golden with an engine of default options but for what is given. */
typedef struct fixture {
  oxbow_model* model;
  oxbow_engine* engine;
  size_t vocabulary;
} fixture;

/* "NAME" -> the path of tests/golden/NAME.gguf, valid until the next call. */
const char* golden_model(const char* name);
/* False, with a failure reported, when that does not work. */
bool set_up(fixture* f, const char* name, const oxbow_engine_options* options);
void tear_down(fixture* f);

/* Tokens below the vocabulary's size, the same each time for one seed. */
void fill_tokens(oxbow_token* tokens, size_t count, size_t vocabulary, unsigned seed);
/* The logits after the tokens, evaluated from nothing in one go; to be freed. */
float* fresh_logits(fixture* f, const oxbow_token* tokens, size_t count);
bool same_row(const fixture* f, const float* a, const float* b);

/* One of each kind of memory: attention, windows, Mamba-1 and 2, delta nets, convolutions, token shift. */
extern const char* const kModels[];
extern const size_t kModelCount;

#endif
