/* Sequences in files. */
#define _POSIX_C_SOURCE 200809L /* truncate, getpid, access */
#include <unistd.h>

#include "support.h"

enum { kTokens = 60 };

static const char kText[] = "user: a river\0moves on";

/* A name of this process's own in the folder for temporary files; valid until the next call. */
static const char* file_name(void) {
  static char path[512];
  const char* folder = getenv("TMPDIR");
  snprintf(path, sizeof path, "%s/oxbow-c-api-%ld.session", folder != NULL ? folder : "/tmp", (long)getpid());
  return path;
}

/* Saves all tokens but the last one. */
static void save_tokens(fixture* f, const oxbow_token* tokens) {
  oxbow_sequence sequence = 0;
  OK(oxbow_sequence_create(f->engine, NULL, &sequence));
  OK(oxbow_evaluate(f->engine, sequence, tokens, kTokens - 1, NULL));
  OK(oxbow_sequence_save(f->engine, sequence, file_name(), kText, sizeof kText));
  OK(oxbow_sequence_drop(f->engine, sequence));
}

void case_ASavedSequenceContinuesInAnotherEngineWithTheSameBits(void) {
  for (size_t m = 0; m < kModelCount; ++m) {
    fixture f, other;
    oxbow_token tokens[kTokens];
    oxbow_sequence first = 0;
    oxbow_restored restored = {.struct_size = sizeof restored};
    const float* logits = NULL;
    if (!set_up(&f, kModels[m], NULL)) return;
    fill_tokens(tokens, kTokens, f.vocabulary, 20);
    float* fresh = fresh_logits(&f, tokens, kTokens);
    save_tokens(&f, tokens);
    tear_down(&f);

    if (!set_up(&other, kModels[m], NULL)) return;
    OK(oxbow_sequence_create(other.engine, NULL, &first));
    OK(oxbow_evaluate(other.engine, first, tokens + 3, 9, NULL));
    OK(oxbow_sequence_restore(other.engine, file_name(), NULL, &restored));
    CHECK(restored.sequence != first && restored.restored == kTokens - 1);
    REQUIRE(restored.token_count == kTokens - 1);
    CHECK(memcmp(restored.tokens, tokens, restored.token_count * sizeof *tokens) == 0);
    CHECK(restored.text_bytes == sizeof kText && memcmp(restored.text, kText, sizeof kText) == 0);
    CHECK(strcmp(restored.recompute_reason, "") == 0);
    OK(oxbow_evaluate(other.engine, restored.sequence, tokens + kTokens - 1, 1, &logits));
    CHECK(same_row(&other, logits, fresh));
    free(fresh);
    tear_down(&other);
    remove(file_name());
  }
}

void case_AFileOfOtherSettingsGivesItsTokensAndTheReason(void) {
  fixture f, other;
  oxbow_token tokens[kTokens];
  const oxbow_engine_options options = {.struct_size = sizeof options,
                                        .key_type = OXBOW_KV_F32,
                                        .value_type = OXBOW_KV_F32,
                                        .budget_bytes = (size_t)64 << 20};
  oxbow_restored restored = {.struct_size = sizeof restored};
  const float* logits = NULL;
  if (!set_up(&f, "granitehybrid-dense", NULL)) return;
  fill_tokens(tokens, kTokens, f.vocabulary, 21);
  save_tokens(&f, tokens);
  tear_down(&f);

  if (!set_up(&other, "granitehybrid-dense", &options)) return;
  float* fresh = fresh_logits(&other, tokens, kTokens - 1);
  OK(oxbow_sequence_restore(other.engine, file_name(), "own", &restored));
  CHECK(restored.restored == 0 && restored.recompute_reason[0] != '\0');
  REQUIRE(restored.token_count == kTokens - 1);
  CHECK(memcmp(restored.tokens, tokens, restored.token_count * sizeof *tokens) == 0);
  CHECK(restored.text_bytes == sizeof kText && memcmp(restored.text, kText, sizeof kText) == 0);
  OK(oxbow_evaluate(other.engine, restored.sequence, restored.tokens + restored.restored,
                    restored.token_count - restored.restored, &logits));
  CHECK(same_row(&other, logits, fresh));
  free(fresh);
  tear_down(&other);
  remove(file_name());
}

void case_ADamagedFileIsRefusedAndChangesNothing(void) {
  fixture f;
  oxbow_token tokens[kTokens];
  oxbow_restored restored = {.struct_size = sizeof restored, .token_count = 77};
  oxbow_engine_info before = {.struct_size = sizeof before}, after = {.struct_size = sizeof after};
  if (!set_up(&f, "granitehybrid-dense", NULL)) return;
  fill_tokens(tokens, kTokens, f.vocabulary, 22);
  save_tokens(&f, tokens);
  OK(oxbow_engine_describe(f.engine, &before));

  FILE* file = fopen(file_name(), "r+b");
  REQUIRE(file != NULL);
  CHECK(fseek(file, 0, SEEK_END) == 0);
  const long size = ftell(file);
  CHECK(fseek(file, size / 2, SEEK_SET) == 0);
  const int byte = fgetc(file);
  CHECK(fseek(file, size / 2, SEEK_SET) == 0 && fputc(byte ^ 1, file) != EOF);
  CHECK(fclose(file) == 0);
  CHECK(oxbow_sequence_restore(f.engine, file_name(), NULL, &restored) != OXBOW_OK);
  CHECK(strstr(oxbow_last_error(), file_name()) != NULL);
  CHECK(truncate(file_name(), size / 3) == 0);
  CHECK(oxbow_sequence_restore(f.engine, file_name(), NULL, &restored) != OXBOW_OK);
  remove(file_name());
  CHECK(oxbow_sequence_restore(f.engine, file_name(), NULL, &restored) != OXBOW_OK);
  CHECK(restored.token_count == 77);
  OK(oxbow_engine_describe(f.engine, &after));
  CHECK(memcmp(&before, &after, sizeof before) == 0);

  FAILS(oxbow_sequence_save(f.engine, 12345, file_name(), NULL, 0), OXBOW_NOT_FOUND, "12345");
  FAILS(oxbow_sequence_save(f.engine, 1, NULL, NULL, 0), OXBOW_INVALID_INPUT, "path");
  FAILS(oxbow_sequence_restore(f.engine, NULL, NULL, &restored), OXBOW_INVALID_INPUT, "path");
  FAILS(oxbow_sequence_restore(f.engine, file_name(), NULL, NULL), OXBOW_INVALID_INPUT, "restored");
  CHECK(access(file_name(), F_OK) != 0);
  tear_down(&f);
}
