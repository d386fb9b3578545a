/* Steps: the same bits, whatever was done to get there. */
#include "support.h"

enum { kTokens = 60 };

void case_LogitsDoNotDependOnHowTokensAreCutIntoSteps(void) {
  for (size_t m = 0; m < kModelCount; ++m) {
    fixture f;
    oxbow_token tokens[kTokens];
    const oxbow_engine_options options = {.struct_size = sizeof options,
                                          .threads = 1,
                                          .max_step_tokens = 17,
                                          .max_outputs = 17,
                                          .budget_bytes = (size_t)64 << 20};
    if (!set_up(&f, kModels[m], &options)) return;
    fill_tokens(tokens, kTokens, f.vocabulary, 3);
    float* whole = malloc(kTokens * f.vocabulary * sizeof *whole);
    oxbow_sequence one = 0, other = 0;
    OK(oxbow_sequence_create(f.engine, NULL, &one));
    OK(oxbow_sequence_create(f.engine, NULL, &other));
    for (size_t done = 0; done < kTokens;) {
      const float* logits = NULL;
      size_t rows = 0;
      const oxbow_step_entry entry = {one, tokens + done, done + 17 < kTokens ? 17 : kTokens - done,
                                      OXBOW_LOGITS_ALL};
      OK(oxbow_step(f.engine, &entry, 1, &logits, &rows));
      REQUIRE(rows == entry.token_count);
      memcpy(whole + done * f.vocabulary, logits, rows * f.vocabulary * sizeof *logits);
      done += rows;
    }
    for (size_t i = 0; i < kTokens; ++i) {
      const float* logits = NULL;
      OK(oxbow_evaluate(f.engine, other, tokens + i, 1, &logits));
      CHECK(same_row(&f, logits, whole + i * f.vocabulary));
    }
    float* fresh = fresh_logits(&f, tokens, kTokens);
    CHECK(same_row(&f, fresh, whole + (kTokens - 1) * f.vocabulary));
    free(fresh);
    free(whole);
    tear_down(&f);
  }
}

void case_LogitsDoNotDependOnTheBatch(void) {
  for (size_t m = 0; m < kModelCount; ++m) {
    fixture f;
    oxbow_token a[20], b[7], c[1];
    const oxbow_engine_options options = {
        .struct_size = sizeof options, .threads = 2, .max_outputs = 8, .budget_bytes = (size_t)64 << 20};
    if (!set_up(&f, kModels[m], &options)) return;
    fill_tokens(a, COUNT_OF(a), f.vocabulary, 4);
    fill_tokens(b, COUNT_OF(b), f.vocabulary, 5);
    fill_tokens(c, COUNT_OF(c), f.vocabulary, 6);
    oxbow_sequence sequences[3] = {0, 0, 0};
    for (size_t i = 0; i < 3; ++i) OK(oxbow_sequence_create(f.engine, NULL, &sequences[i]));
    const oxbow_step_entry entries[] = {{sequences[2], a, COUNT_OF(a), OXBOW_LOGITS_LAST},
                                        {sequences[0], b, COUNT_OF(b), OXBOW_LOGITS_NONE},
                                        {sequences[1], c, COUNT_OF(c), OXBOW_LOGITS_ALL}};
    const float* logits = NULL;
    size_t rows = 0;
    OK(oxbow_step(f.engine, entries, COUNT_OF(entries), &logits, &rows));
    REQUIRE(rows == 2);
    float* batch = malloc(rows * f.vocabulary * sizeof *batch);
    memcpy(batch, logits, rows * f.vocabulary * sizeof *batch);
    float* fresh_a = fresh_logits(&f, a, COUNT_OF(a));
    float* fresh_c = fresh_logits(&f, c, COUNT_OF(c));
    CHECK(same_row(&f, batch, fresh_a));
    CHECK(same_row(&f, batch + f.vocabulary, fresh_c));
    const oxbow_step_entry silent = {sequences[0], a, 2, OXBOW_LOGITS_NONE};
    OK(oxbow_step(f.engine, &silent, 1, &logits, &rows));
    CHECK(rows == 0 && logits == NULL);
    OK(oxbow_step(f.engine, &silent, 1, NULL, NULL));
    free(batch);
    free(fresh_a);
    free(fresh_c);
    tear_down(&f);
  }
}

void case_AStepThatIsRefusedChangesNothing(void) {
  fixture f;
  oxbow_token tokens[kTokens], bad[3] = {1, 2, 100000};
  const float* logits = NULL;
  oxbow_sequence sequence = 0, gone = 0;
  size_t length = 0;
  if (!set_up(&f, "granitehybrid-dense", NULL)) return;
  fill_tokens(tokens, kTokens, f.vocabulary, 7);
  OK(oxbow_sequence_create(f.engine, NULL, &sequence));
  OK(oxbow_sequence_create(f.engine, NULL, &gone));
  OK(oxbow_sequence_drop(f.engine, gone));
  OK(oxbow_evaluate(f.engine, sequence, tokens, kTokens - 1, NULL));

  const oxbow_step_entry refused[] = {
      {sequence, bad, 3, OXBOW_LOGITS_LAST},   {sequence, tokens, 0, OXBOW_LOGITS_LAST},
      {sequence, NULL, 2, OXBOW_LOGITS_LAST},  {sequence, tokens, SIZE_MAX / 8, OXBOW_LOGITS_LAST},
      {sequence, tokens, 2, OXBOW_LOGITS_ALL}, /* of one row that the options allow */
      {sequence, tokens, 1, (oxbow_outputs)9}};
  for (size_t i = 0; i < COUNT_OF(refused); ++i)
    CHECK(oxbow_step(f.engine, &refused[i], 1, &logits, NULL) == OXBOW_INVALID_INPUT);
  const oxbow_step_entry twice[] = {{sequence, tokens, 1, OXBOW_LOGITS_NONE},
                                    {sequence, tokens, 1, OXBOW_LOGITS_LAST}};
  CHECK(oxbow_step(f.engine, twice, 2, &logits, NULL) != OXBOW_OK);
  const oxbow_step_entry dropped[] = {{sequence, tokens, 1, OXBOW_LOGITS_NONE},
                                      {gone, tokens, 1, OXBOW_LOGITS_LAST}};
  CHECK(oxbow_step(f.engine, dropped, 2, &logits, NULL) == OXBOW_NOT_FOUND);
  CHECK(oxbow_step(f.engine, NULL, 0, &logits, NULL) == OXBOW_INVALID_INPUT);
  FAILS(oxbow_evaluate(f.engine, sequence, bad, 3, &logits), OXBOW_INVALID_INPUT, "token 100000 at 2");
  CHECK(logits == NULL);

  OK(oxbow_sequence_length(f.engine, sequence, &length));
  CHECK(length == kTokens - 1);
  float* fresh = fresh_logits(&f, tokens, kTokens);
  OK(oxbow_evaluate(f.engine, sequence, tokens + kTokens - 1, 1, &logits));
  CHECK(same_row(&f, logits, fresh));
  free(fresh);
  tear_down(&f);
}

void case_WhatDoesNotFitTheBudgetIsAnErrorThatDisturbsNothing(void) {
  fixture f;
  oxbow_token tokens[64];
  const oxbow_engine_options options = {
      .struct_size = sizeof options, .threads = 1, .max_step_tokens = 64, .budget_bytes = (size_t)2 << 20};
  if (!set_up(&f, "granitehybrid-dense", &options)) return;
  fill_tokens(tokens, COUNT_OF(tokens), f.vocabulary, 8);
  float* alone = fresh_logits(&f, tokens, COUNT_OF(tokens));
  oxbow_sequence first = 0, next = 0;
  oxbow_result status = OXBOW_OK;
  OK(oxbow_sequence_create(f.engine, NULL, &first));
  OK(oxbow_evaluate(f.engine, first, tokens, COUNT_OF(tokens) - 1, NULL));
  for (size_t i = 0; i < 10000 && status == OXBOW_OK; ++i) {
    OK(oxbow_sequence_create(f.engine, NULL, &next));
    status = oxbow_evaluate(f.engine, next, tokens, COUNT_OF(tokens), NULL);
  }
  REQUIRE(status == OXBOW_OUT_OF_BUDGET);
  char expected[32];
  snprintf(expected, sizeof expected, "sequence %u", (unsigned)next);
  CHECK(strstr(oxbow_last_error(), expected) != NULL);
  oxbow_engine_info info = {.struct_size = sizeof info};
  OK(oxbow_engine_describe(f.engine, &info));
  CHECK(info.sequence_bytes + info.checkpoint_bytes + info.scratch_bytes <= info.budget_bytes);

  /* Forks share, and what was there goes on once another one makes room. */
  size_t length = 0;
  OK(oxbow_sequence_fork(f.engine, first, COUNT_OF(tokens) - 1, &next, &length));
  CHECK(length == COUNT_OF(tokens) - 1);
  OK(oxbow_sequence_drop(f.engine, next));
  OK(oxbow_sequence_drop(f.engine, first + 1));
  const float* logits = NULL;
  OK(oxbow_evaluate(f.engine, first, tokens + COUNT_OF(tokens) - 1, 1, &logits));
  CHECK(same_row(&f, logits, alone));
  free(alone);
  tear_down(&f);
}
