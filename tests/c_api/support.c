#include "support.h"

const char* const kModels[] = {"granitehybrid-dense", "mamba2",    "mamba",   "llama", "gemma3",
                               "falcon-h1",           "qwen3next", "lfm2moe", "rwkv7", "kimi-linear"};
const size_t kModelCount = COUNT_OF(kModels);

const char* golden_model(const char* name) {
  static char path[1024];
  snprintf(path, sizeof path, "%s/tests/golden/%s.gguf", OXBOW_SOURCE_DIR, name);
  return path;
}

bool set_up(fixture* f, const char* name, const oxbow_engine_options* options) {
  oxbow_engine_options wanted = {
      .struct_size = sizeof wanted, .threads = 2, .budget_bytes = (size_t)64 << 20};
  oxbow_model_info info = {.struct_size = sizeof info};
  memset(f, 0, sizeof *f);
  if (options != NULL) wanted = *options;
  if (oxbow_model_load(golden_model(name), NULL, &f->model) == OXBOW_OK &&
      oxbow_model_describe(f->model, &info) == OXBOW_OK &&
      oxbow_engine_create(f->model, &wanted, &f->engine) == OXBOW_OK) {
    f->vocabulary = info.vocabulary;
    return true;
  }
  test_failed(__FILE__, __LINE__, oxbow_last_error());
  tear_down(f);
  return false;
}

void tear_down(fixture* f) {
  CHECK(oxbow_engine_free(f->engine) == OXBOW_OK);
  CHECK(oxbow_model_free(f->model) == OXBOW_OK);
}

void fill_tokens(oxbow_token* tokens, size_t count, size_t vocabulary, unsigned seed) {
  uint32_t state = seed * 2654435761u + 1u;
  for (size_t i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    tokens[i] = (oxbow_token)((state >> 8) % vocabulary);
  }
}

float* fresh_logits(fixture* f, const oxbow_token* tokens, size_t count) {
  float* copy = malloc(f->vocabulary * sizeof *copy);
  const float* logits = NULL;
  oxbow_sequence sequence = 0;
  CHECK(oxbow_sequence_create(f->engine, "fresh", &sequence) == OXBOW_OK);
  if (oxbow_evaluate(f->engine, sequence, tokens, count, &logits) == OXBOW_OK) {
    memcpy(copy, logits, f->vocabulary * sizeof *copy);
  } else {
    test_failed(__FILE__, __LINE__, oxbow_last_error());
  }
  CHECK(oxbow_sequence_drop(f->engine, sequence) == OXBOW_OK);
  return copy;
}

bool same_row(const fixture* f, const float* a, const float* b) {
  return memcmp(a, b, f->vocabulary * sizeof *a) == 0;
}
