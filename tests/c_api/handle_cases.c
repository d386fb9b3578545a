/* Handles, structures and options that are wrong or of another version. */
#include <pthread.h>

#include "support.h"

void case_NullArgumentsAreErrors(void) {
  fixture f;
  const float* logits = NULL;
  oxbow_sequence sequence = 0;
  oxbow_token token = 1;
  size_t count = 0;
  bool ends = false;
  if (!set_up(&f, "llama", NULL)) return;
  OK(oxbow_sequence_create(f.engine, NULL, &sequence));

  FAILS(oxbow_model_load(NULL, NULL, &f.model), OXBOW_INVALID_INPUT, "path");
  FAILS(oxbow_model_load(golden_model("llama"), NULL, NULL), OXBOW_INVALID_INPUT, "model");
  FAILS(oxbow_model_describe(f.model, NULL), OXBOW_INVALID_INPUT, "info");
  FAILS(oxbow_tokenize(f.model, NULL, 3, 0, &token, 1, &count), OXBOW_INVALID_INPUT, "text");
  FAILS(oxbow_tokenize(f.model, "a", 1, 0, &token, 1, NULL), OXBOW_INVALID_INPUT, "count");
  FAILS(oxbow_detokenize(f.model, NULL, 3, 0, NULL, 0, &count), OXBOW_INVALID_INPUT, "tokens");
  FAILS(oxbow_detokenize(f.model, &token, SIZE_MAX, 0, NULL, 0, &count), OXBOW_INVALID_INPUT, "memory");
  FAILS(oxbow_engine_create(f.model, NULL, NULL), OXBOW_INVALID_INPUT, "engine");
  FAILS(oxbow_sequence_create(f.engine, NULL, NULL), OXBOW_INVALID_INPUT, "sequence");
  FAILS(oxbow_sequence_open(f.engine, NULL, &sequence, NULL), OXBOW_INVALID_INPUT, "prompt");
  FAILS(oxbow_sequence_length(f.engine, sequence, NULL), OXBOW_INVALID_INPUT, "length");
  FAILS(oxbow_step(f.engine, NULL, 1, &logits, NULL), OXBOW_INVALID_INPUT, "entries");
  FAILS(oxbow_evaluate(f.engine, sequence, NULL, 1, &logits), OXBOW_INVALID_INPUT, "tokens");
  FAILS(oxbow_evaluate(f.engine, sequence, &token, 0, &logits), OXBOW_INVALID_INPUT, "tokens");
  CHECK(logits == NULL);

  FAILS(oxbow_model_describe(NULL, NULL), OXBOW_INVALID_INPUT, "model");
  CHECK(!oxbow_model_is_hybrid(NULL) && !oxbow_model_is_recurrent(NULL));
  FAILS(oxbow_is_end_of_generation(NULL, 1, &ends), OXBOW_INVALID_INPUT, "model");
  FAILS(oxbow_step(NULL, NULL, 0, NULL, NULL), OXBOW_INVALID_INPUT, "engine");
  FAILS(oxbow_sampler_sample(NULL, NULL, 0, NULL, 0, &token), OXBOW_INVALID_INPUT, "sampler");
  CHECK(oxbow_model_free(NULL) == OXBOW_OK && oxbow_engine_free(NULL) == OXBOW_OK);
  CHECK(oxbow_sampler_free(NULL) == OXBOW_OK);
  tear_down(&f);
}

void case_FreedAndForeignHandlesAreNotFound(void) {
  fixture f;
  oxbow_sampler* sampler = NULL;
  oxbow_engine* engine = NULL;
  oxbow_sequence sequence = 0;
  oxbow_model_info info = {.struct_size = sizeof info};
  if (!set_up(&f, "llama", NULL)) return;
  OK(oxbow_sampler_create(NULL, &sampler));
  FAILS(oxbow_sequence_create((oxbow_engine*)f.model, NULL, &sequence), OXBOW_NOT_FOUND, "engine");
  FAILS(oxbow_model_describe((oxbow_model*)sampler, &info), OXBOW_NOT_FOUND, "model");
  FAILS(oxbow_model_describe((oxbow_model*)&info, &info), OXBOW_NOT_FOUND, "model");
  tear_down(&f);
  OK(oxbow_sampler_free(sampler));
  FAILS(oxbow_engine_free(f.engine), OXBOW_NOT_FOUND, "freed");
  FAILS(oxbow_model_free(f.model), OXBOW_NOT_FOUND, "freed");
  FAILS(oxbow_sampler_free(sampler), OXBOW_NOT_FOUND, "freed");
  FAILS(oxbow_sequence_create(f.engine, NULL, &sequence), OXBOW_NOT_FOUND, "engine");
  FAILS(oxbow_engine_create(f.model, NULL, &engine), OXBOW_NOT_FOUND, "model");
  FAILS(oxbow_model_describe(f.model, &info), OXBOW_NOT_FOUND, "model");
  CHECK(engine == NULL && sequence == 0);
}

void case_AnEngineKeepsItsModelAlive(void) {
  fixture f;
  oxbow_token tokens[8];
  if (!set_up(&f, "mamba2", NULL)) return;
  fill_tokens(tokens, COUNT_OF(tokens), f.vocabulary, 1);
  float* before = fresh_logits(&f, tokens, COUNT_OF(tokens));
  OK(oxbow_model_free(f.model));
  f.model = NULL;
  float* after = fresh_logits(&f, tokens, COUNT_OF(tokens));
  CHECK(same_row(&f, before, after));
  free(before);
  free(after);
  tear_down(&f);
}

/* What a caller has whose header is older or newer than the library. */
void case_StructuresOfOtherVersionsAreUnderstood(void) {
  struct {
    oxbow_engine_options known;
    size_t unknown;
  } newer = {.known = {.struct_size = sizeof newer, .threads = 1, .budget_bytes = (size_t)64 << 20}};
  struct {
    oxbow_engine_info known;
    size_t unknown;
  } newer_info = {.known = {.struct_size = sizeof newer_info}, .unknown = 5};
  oxbow_engine_options older = {.struct_size = offsetof(oxbow_engine_options, key_type),
                                .threads = 1,
                                .key_type = (oxbow_kv_type)77, /* behind its end */
                                .budget_bytes = 1};
  oxbow_model_info older_info = {.struct_size = offsetof(oxbow_model_info, layers), .layers = 12345};
  oxbow_sampler_settings settings = {.struct_size = offsetof(oxbow_sampler_settings, top_p), .top_p = -5.0f};
  oxbow_model* model = NULL;
  oxbow_engine* engine = NULL;
  oxbow_sampler* sampler = NULL;
  OK(oxbow_model_load(golden_model("llama"), NULL, &model));

  OK(oxbow_engine_create(model, &newer.known, &engine));
  OK(oxbow_engine_describe(engine, &newer_info.known));
  CHECK(newer_info.known.struct_size == sizeof newer_info && newer_info.unknown == 0);
  CHECK(newer_info.known.threads == 1);
  OK(oxbow_engine_free(engine));
  engine = NULL;
  newer.unknown = 1;
  FAILS(oxbow_engine_create(model, &newer.known, &engine), OXBOW_UNSUPPORTED, "lacks");

  OK(oxbow_engine_create(model, &older, &engine));
  OK(oxbow_engine_free(engine));
  engine = NULL;
  OK(oxbow_model_describe(model, &older_info));
  CHECK(older_info.layers == 12345 && strcmp(older_info.architecture, "llama") == 0);
  CHECK(older_info.struct_size == offsetof(oxbow_model_info, layers));
  OK(oxbow_sampler_create(&settings, &sampler));
  OK(oxbow_sampler_free(sampler));

  older.struct_size = 0;
  FAILS(oxbow_engine_create(model, &older, &engine), OXBOW_INVALID_INPUT, "struct_size");
  older.struct_size = (size_t)1 << 40;
  FAILS(oxbow_engine_create(model, &older, &engine), OXBOW_INVALID_INPUT, "struct_size");
  older_info.struct_size = 3;
  FAILS(oxbow_model_describe(model, &older_info), OXBOW_INVALID_INPUT, "struct_size");
  CHECK(engine == NULL);
  OK(oxbow_model_free(model));
}

void case_OptionsOutOfRangeAreRefused(void) {
  const oxbow_engine_options wrong[] = {
      {.struct_size = sizeof wrong[0], .threads = -1},
      {.struct_size = sizeof wrong[0], .threads = 1000000},
      {.struct_size = sizeof wrong[0], .max_step_tokens = SIZE_MAX / 4},
      {.struct_size = sizeof wrong[0], .max_outputs = SIZE_MAX / 4},
      {.struct_size = sizeof wrong[0], .key_type = (oxbow_kv_type)5},
      {.struct_size = sizeof wrong[0], .value_type = (oxbow_kv_type)5},
  };
  oxbow_model* model = NULL;
  oxbow_engine* engine = NULL;
  OK(oxbow_model_load(golden_model("llama"), NULL, &model));
  for (size_t i = 0; i < COUNT_OF(wrong); ++i)
    CHECK(oxbow_engine_create(model, &wrong[i], &engine) == OXBOW_INVALID_INPUT);
  const oxbow_engine_options small = {.struct_size = sizeof small, .budget_bytes = 1000};
  FAILS(oxbow_engine_create(model, &small, &engine), OXBOW_OUT_OF_BUDGET, "1000");
  const oxbow_engine_options large = {
      .struct_size = sizeof large, .max_step_tokens = 1 << 20, .budget_bytes = 1 << 20};
  CHECK(oxbow_engine_create(model, &large, &engine) == OXBOW_OUT_OF_BUDGET);
  CHECK(engine == NULL);
  OK(oxbow_model_free(model));
}

static void* fail_elsewhere(void* unused) {
  (void)unused;
  CHECK(strcmp(oxbow_last_error(), "") == 0);
  FAILS(oxbow_model_describe(NULL, NULL), OXBOW_INVALID_INPUT, "the model is null");
  return NULL;
}

void case_AThreadHasItsOwnLastError(void) {
  pthread_t thread;
  FAILS(oxbow_model_load(NULL, NULL, NULL), OXBOW_INVALID_INPUT, "path is null");
  REQUIRE(pthread_create(&thread, NULL, fail_elsewhere, NULL) == 0);
  REQUIRE(pthread_join(thread, NULL) == 0);
  CHECK(strstr(oxbow_last_error(), "path is null") != NULL);
}
