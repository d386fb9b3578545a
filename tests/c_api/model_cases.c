/* Loading models and asking them. */
#include "support.h"

void case_TheHeaderAndTheLibraryHaveOneVersion(void) {
  char expected[64];
  snprintf(expected, sizeof expected, "%d.%d.%d", OXBOW_VERSION_MAJOR, OXBOW_VERSION_MINOR,
           OXBOW_VERSION_PATCH);
  CHECK(strcmp(oxbow_version(), expected) == 0);
}

void case_EveryCodeHasAName(void) {
  for (int status = OXBOW_OK; status <= OXBOW_INTERNAL; ++status)
    CHECK(strcmp(oxbow_result_name((oxbow_result)status), "unknown status") != 0);
  CHECK(strcmp(oxbow_result_name((oxbow_result)(OXBOW_INTERNAL + 1)), "unknown status") == 0);
  for (int reason = OXBOW_REASON_NONE; reason <= OXBOW_REASON_VERIFY_FAILED; ++reason)
    CHECK(strcmp(oxbow_reason_name((oxbow_reason)reason), "unknown reason") != 0);
  CHECK(strcmp(oxbow_reason_name((oxbow_reason)(OXBOW_REASON_VERIFY_FAILED + 1)), "unknown reason") == 0);
}

void case_AModelSaysWhatItIs(void) {
  static const struct {
    const char *name, *architecture, *letters;
    bool is_recurrent, is_hybrid;
  } expected[] = {{"granitehybrid-dense", "granitehybrid", "MF", false, true},
                  {"mamba2", "mamba2", "M", true, false},
                  {"llama", "llama", "AF", false, false},
                  {"falcon-h1", "falcon-h1", "AMF", false, true}};
  for (size_t i = 0; i < COUNT_OF(expected); ++i) {
    oxbow_model* model = NULL;
    oxbow_model_info info = {.struct_size = sizeof info};
    oxbow_layer_info layer = {.struct_size = sizeof layer};
    OK(oxbow_model_load(golden_model(expected[i].name), NULL, &model));
    OK(oxbow_model_describe(model, &info));
    CHECK(strcmp(info.architecture, expected[i].architecture) == 0);
    CHECK(info.is_recurrent == expected[i].is_recurrent && info.is_hybrid == expected[i].is_hybrid);
    CHECK(oxbow_model_is_recurrent(model) == expected[i].is_recurrent);
    CHECK(oxbow_model_is_hybrid(model) == expected[i].is_hybrid);
    CHECK(info.layers > 0 && info.vocabulary > 200 && info.parameters > 1000 && info.weight_bytes > 0);
    CHECK(info.context_length > 0 && info.embedding > 0 && info.has_tokenizer);
    OK(oxbow_model_describe_layer(model, 0, &layer));
    CHECK(strcmp(layer.letters, expected[i].letters) == 0);
    FAILS(oxbow_model_describe_layer(model, info.layers, &layer), OXBOW_INVALID_INPUT, "layer");
    OK(oxbow_model_free(model));
  }
}

void case_StateSizesOfLayersAddUpToTheModels(void) {
  for (size_t i = 0; i < kModelCount; ++i) {
    oxbow_model* model = NULL;
    oxbow_model_info info = {.struct_size = sizeof info};
    size_t state = 0, row = 0, kv = 0;
    OK(oxbow_model_load(golden_model(kModels[i]), NULL, &model));
    OK(oxbow_model_describe(model, &info));
    for (size_t l = 0; l < info.layers; ++l) {
      oxbow_layer_info layer = {.struct_size = sizeof layer};
      OK(oxbow_model_describe_layer(model, l, &layer));
      state += layer.state_bytes;
      row += layer.log_row_bytes;
      kv += layer.kv_bytes_per_token;
      CHECK((layer.state_bytes > 0) == (layer.log_row_bytes > 0));
    }
    CHECK(state == info.state_bytes && row == info.log_row_bytes && kv == info.kv_bytes_per_token);
    CHECK(info.is_hybrid == (state > 0 && kv > 0));
    CHECK(info.is_recurrent == (state > 0 && kv == 0));
    OK(oxbow_model_free(model));
  }
}

void case_AWindowedLayerSaysItsWindow(void) {
  oxbow_model* model = NULL;
  oxbow_model_info info = {.struct_size = sizeof info};
  size_t windowed = 0, whole = 0;
  OK(oxbow_model_load(golden_model("gemma3"), NULL, &model));
  OK(oxbow_model_describe(model, &info));
  for (size_t l = 0; l < info.layers; ++l) {
    oxbow_layer_info layer = {.struct_size = sizeof layer};
    OK(oxbow_model_describe_layer(model, l, &layer));
    CHECK(layer.window_tokens == (layer.letters[0] == 'W' ? 12u : 0u));
    if (layer.window_tokens > 0) ++windowed;
    if (layer.window_tokens == 0) ++whole;
  }
  CHECK(windowed > 0 && whole > 0);
  OK(oxbow_model_free(model));
}

void case_AModelWithoutWeightsAnswersButDoesNotRun(void) {
  const oxbow_model_options options = {.struct_size = sizeof options, .shapes_only = true};
  oxbow_model* model = NULL;
  oxbow_engine* engine = NULL;
  size_t count = 0;
  OK(oxbow_model_load(golden_model("jamba"), &options, &model));
  CHECK(oxbow_model_is_hybrid(model));
  CHECK(oxbow_tokenize(model, "a", 1, 0, NULL, 0, &count) == OXBOW_BUFFER_TOO_SMALL && count == 1);
  FAILS(oxbow_engine_create(model, NULL, &engine), OXBOW_INVALID_STATE, "shapes_only");
  CHECK(engine == NULL);
  OK(oxbow_model_free(model));
}

typedef struct load_watch {
  size_t calls, done, total, allowed;
} load_watch;

static bool watch_load(size_t done_bytes, size_t total_bytes, void* user) {
  load_watch* watch = user;
  watch->done = done_bytes;
  watch->total = total_bytes;
  return ++watch->calls <= watch->allowed;
}

void case_LoadingReportsProgressAndCanBeStopped(void) {
  load_watch watch = {.allowed = SIZE_MAX};
  oxbow_model_options options = {
      .struct_size = sizeof options, .progress = watch_load, .progress_user = &watch};
  oxbow_model* model = NULL;
  OK(oxbow_model_load(golden_model("llama"), &options, &model));
  CHECK(watch.calls > 2 && watch.done > 0 && watch.done <= watch.total);
  OK(oxbow_model_free(model));

  watch = (load_watch){.allowed = 1};
  model = NULL;
  FAILS(oxbow_model_load(golden_model("llama"), &options, &model), OXBOW_INVALID_STATE, "stopped");
  CHECK(watch.calls == 2 && model == NULL);
}

void case_FilesThatAreNoModelsAreRefusedByName(void) {
  oxbow_model* model = NULL;
  CHECK(oxbow_model_load("no/such/file.gguf", NULL, &model) != OXBOW_OK);
  CHECK(strstr(oxbow_last_error(), "no/such/file.gguf") != NULL);
  FAILS(oxbow_model_load(OXBOW_SOURCE_DIR "/README.md", NULL, &model), OXBOW_INVALID_INPUT, "README.md");
  CHECK(oxbow_model_load(OXBOW_SOURCE_DIR, NULL, &model) != OXBOW_OK);
  CHECK(oxbow_model_load("", NULL, &model) != OXBOW_OK);
  CHECK(model == NULL);
}

static char seen_module[64];
static char seen_message[256];

static void remember_message(oxbow_log_level level, const char* module, const char* message, void* user) {
  (void)level;
  ++*(int*)user;
  snprintf(seen_module, sizeof seen_module, "%s", module);
  snprintf(seen_message, sizeof seen_message, "%s", message);
}

/* Sends a message through the library's log; defined in C++. */
void test_log(const char* message);

void case_MessagesGoToTheCallback(void) {
  int calls = 0;
  OK(oxbow_set_log(remember_message, &calls));
  test_log("the river moves on");
  CHECK(calls == 1);
  CHECK(strcmp(seen_module, "test") == 0 && strcmp(seen_message, "the river moves on") == 0);
  OK(oxbow_set_log(NULL, NULL));
  test_log("nobody hears");
  CHECK(calls == 1);
}
