/* Sequences: forked, cut, opened for prompts, kept. */
#include "support.h"

enum { kTokens = 60 };

/* A prompt without boundaries. */
static oxbow_prompt prompt_of(const oxbow_token* tokens, size_t count) {
  const oxbow_prompt prompt = {.struct_size = sizeof prompt, .tokens = tokens, .token_count = count};
  return prompt;
}

void case_AForkContinuesWithTheSameBits(void) {
  for (size_t m = 0; m < kModelCount; ++m) {
    fixture f;
    oxbow_token tokens[kTokens], other[kTokens];
    oxbow_sequence parent = 0, child = 0;
    const float* logits = NULL;
    size_t held = 0;
    if (!set_up(&f, kModels[m], NULL)) return;
    fill_tokens(tokens, kTokens, f.vocabulary, 9);
    memcpy(other, tokens, sizeof other);
    fill_tokens(other + 50, kTokens - 50, f.vocabulary, 10);
    float* of_parent = fresh_logits(&f, tokens, kTokens);
    float* of_child = fresh_logits(&f, other, kTokens);

    OK(oxbow_sequence_create(f.engine, NULL, &parent));
    OK(oxbow_evaluate(f.engine, parent, tokens, kTokens - 1, NULL));
    OK(oxbow_sequence_fork(f.engine, parent, 50, &child, &held));
    CHECK(child != parent && held <= 50);
    OK(oxbow_evaluate(f.engine, child, other + held, kTokens - held, &logits));
    CHECK(same_row(&f, logits, of_child));
    OK(oxbow_evaluate(f.engine, parent, tokens + kTokens - 1, 1, &logits));
    CHECK(same_row(&f, logits, of_parent));
    FAILS(oxbow_sequence_fork(f.engine, parent, kTokens + 1, &child, NULL), OXBOW_INVALID_INPUT, "60 tokens");
    free(of_parent);
    free(of_child);
    tear_down(&f);
  }
}

void case_ACutSequenceContinuesWithTheSameBits(void) {
  for (size_t m = 0; m < kModelCount; ++m) {
    fixture f;
    oxbow_token tokens[kTokens];
    oxbow_sequence sequence = 0;
    if (!set_up(&f, kModels[m], NULL)) return;
    fill_tokens(tokens, kTokens, f.vocabulary, 11);
    float* fresh = fresh_logits(&f, tokens, kTokens);
    OK(oxbow_sequence_create(f.engine, NULL, &sequence));
    OK(oxbow_evaluate(f.engine, sequence, tokens, kTokens, NULL));
    size_t first = 0, last = 0;
    OK(oxbow_sequence_reach(f.engine, sequence, &first, &last));
    CHECK(last == kTokens && first <= kTokens - 16);
    for (size_t position = first; position < kTokens; position += 5) {
      const float* logits = NULL;
      size_t held = 0;
      OK(oxbow_sequence_truncate(f.engine, sequence, position, &held));
      CHECK(held == position);
      OK(oxbow_evaluate(f.engine, sequence, tokens + held, kTokens - held, &logits));
      CHECK(same_row(&f, logits, fresh));
      OK(oxbow_sequence_reach(f.engine, sequence, &first, &last));
      if (position < first) position = first;
    }
    FAILS(oxbow_sequence_truncate(f.engine, sequence, kTokens + 1, NULL), OXBOW_INVALID_INPUT, "60 tokens");
    FAILS(oxbow_sequence_remove(f.engine, sequence, 3, 5, NULL), OXBOW_UNSUPPORTED, "from the middle");
    free(fresh);
    tear_down(&f);
  }
}

void case_BeyondItsReachASequenceSaysWhatItStillHolds(void) {
  fixture f;
  oxbow_token tokens[200];
  oxbow_sequence sequence = 0;
  size_t first = 0, last = 0, held = 1000;
  const float* logits = NULL;
  const oxbow_engine_options options = {
      .struct_size = sizeof options, .threads = 1, .budget_bytes = (size_t)64 << 20, .rewind_bytes = 1};
  if (!set_up(&f, "mamba2", &options)) return;
  fill_tokens(tokens, COUNT_OF(tokens), f.vocabulary, 12);
  float* fresh = fresh_logits(&f, tokens, COUNT_OF(tokens));
  OK(oxbow_sequence_create(f.engine, NULL, &sequence));
  OK(oxbow_evaluate(f.engine, sequence, tokens, COUNT_OF(tokens), NULL));
  OK(oxbow_sequence_reach(f.engine, sequence, &first, &last));
  CHECK(first > 10 && first + 16 <= last);
  OK(oxbow_sequence_truncate(f.engine, sequence, 10, &held));
  REQUIRE(held < 10);
  OK(oxbow_evaluate(f.engine, sequence, tokens + held, COUNT_OF(tokens) - held, &logits));
  CHECK(same_row(&f, logits, fresh));
  free(fresh);
  tear_down(&f);
}

void case_APromptIsReusedWithTheSameBitsAndTheReasonForTheRest(void) {
  for (size_t m = 0; m < kModelCount; ++m) {
    fixture f;
    oxbow_token tokens[kTokens], other[kTokens];
    const size_t boundaries[] = {24, 40};
    oxbow_reuse reuse = {.struct_size = sizeof reuse};
    oxbow_sequence sequence = 0;
    const float* logits = NULL;
    if (!set_up(&f, kModels[m], NULL)) return;
    fill_tokens(tokens, kTokens, f.vocabulary, 13);
    memcpy(other, tokens, sizeof other);
    other[40] = (tokens[40] + 1) % (oxbow_token)f.vocabulary;
    float* of_tokens = fresh_logits(&f, tokens, kTokens);
    float* of_other = fresh_logits(&f, other, kTokens);
    oxbow_prompt prompt = prompt_of(tokens, kTokens);
    prompt.boundaries = boundaries;
    prompt.boundary_count = COUNT_OF(boundaries);

    OK(oxbow_sequence_open(f.engine, &prompt, &sequence, &reuse));
    CHECK(reuse.matched == 0 && reuse.reused == 0 && reuse.recompute == kTokens &&
          reuse.reason == OXBOW_REASON_COLD);
    OK(oxbow_evaluate(f.engine, sequence, tokens, kTokens, &logits));
    CHECK(same_row(&f, logits, of_tokens));
    OK(oxbow_sequence_drop(f.engine, sequence));

    OK(oxbow_sequence_open(f.engine, &prompt, &sequence, &reuse));
    CHECK(reuse.matched >= kTokens - 1 && reuse.reused == kTokens - 1 && reuse.recompute == 1);
    CHECK(reuse.reason == OXBOW_REASON_NONE);
    OK(oxbow_evaluate(f.engine, sequence, tokens + reuse.reused, reuse.recompute, &logits));
    CHECK(same_row(&f, logits, of_tokens));

    prompt.tokens = other;
    OK(oxbow_sequence_open(f.engine, &prompt, &sequence, &reuse));
    CHECK(reuse.matched == 40 && reuse.reused == 40 && reuse.recompute == kTokens - 40);
    CHECK(reuse.reason == OXBOW_REASON_DIVERGED);
    OK(oxbow_evaluate(f.engine, sequence, other + reuse.reused, reuse.recompute, &logits));
    CHECK(same_row(&f, logits, of_other));
    free(of_tokens);
    free(of_other);
    tear_down(&f);
  }
}

void case_AConversationReusesWhatWasKept(void) {
  fixture f;
  oxbow_token tokens[kTokens];
  oxbow_reuse reuse = {.struct_size = sizeof reuse};
  oxbow_sequence sequence = 0, next = 0;
  if (!set_up(&f, "qwen3next", NULL)) return;
  fill_tokens(tokens, kTokens, f.vocabulary, 14);
  oxbow_prompt prompt = prompt_of(tokens, 30);
  OK(oxbow_sequence_open(f.engine, &prompt, &sequence, NULL));
  OK(oxbow_evaluate(f.engine, sequence, tokens, 50, NULL)); /* a prompt of 30 and an answer of 20 */
  OK(oxbow_sequence_keep(f.engine, sequence));
  OK(oxbow_sequence_drop(f.engine, sequence));
  prompt.token_count = kTokens;
  OK(oxbow_sequence_open(f.engine, &prompt, &next, &reuse));
  CHECK(reuse.reused == 50 && reuse.matched == 50 && reuse.reason == OXBOW_REASON_DIVERGED);
  FAILS(oxbow_sequence_keep(f.engine, sequence), OXBOW_NOT_FOUND, "sequence");
  tear_down(&f);
}

void case_PartitionsDoNotShare(void) {
  fixture f;
  oxbow_token tokens[kTokens];
  oxbow_reuse reuse = {.struct_size = sizeof reuse};
  oxbow_sequence sequence = 0;
  if (!set_up(&f, "granitehybrid-dense", NULL)) return;
  fill_tokens(tokens, kTokens, f.vocabulary, 15);
  oxbow_prompt prompt = prompt_of(tokens, kTokens);
  prompt.partition = "alice";
  OK(oxbow_sequence_open(f.engine, &prompt, &sequence, NULL));
  OK(oxbow_evaluate(f.engine, sequence, tokens, kTokens, NULL));
  prompt.partition = "bob";
  OK(oxbow_sequence_open(f.engine, &prompt, &sequence, &reuse));
  CHECK(reuse.matched == 0 && reuse.reused == 0);
  prompt.partition = NULL;
  OK(oxbow_sequence_open(f.engine, &prompt, &sequence, &reuse));
  CHECK(reuse.matched == 0 && reuse.reused == 0);
  prompt.partition = "alice";
  OK(oxbow_sequence_open(f.engine, &prompt, &sequence, &reuse));
  CHECK(reuse.reused == kTokens - 1);
  tear_down(&f);
}

void case_ReopeningBringsASequenceToAPrompt(void) {
  fixture f;
  oxbow_token tokens[kTokens];
  oxbow_reuse reuse = {.struct_size = sizeof reuse};
  oxbow_sequence sequence = 0;
  const float* logits = NULL;
  size_t length = 0;
  if (!set_up(&f, "granitehybrid-dense", NULL)) return;
  fill_tokens(tokens, kTokens, f.vocabulary, 16);
  float* fresh = fresh_logits(&f, tokens, 55);
  OK(oxbow_sequence_create(f.engine, NULL, &sequence));
  OK(oxbow_evaluate(f.engine, sequence, tokens, kTokens, NULL));
  const oxbow_prompt prompt = prompt_of(tokens, 55);
  OK(oxbow_sequence_reopen(f.engine, sequence, &prompt, &reuse));
  CHECK(reuse.reused == 54 && reuse.reason == OXBOW_REASON_NONE);
  OK(oxbow_sequence_length(f.engine, sequence, &length));
  CHECK(length == 54);
  OK(oxbow_evaluate(f.engine, sequence, tokens + 54, 1, &logits));
  CHECK(same_row(&f, logits, fresh));
  FAILS(oxbow_sequence_reopen(f.engine, sequence + 100, &prompt, &reuse), OXBOW_NOT_FOUND, "sequence");
  const oxbow_prompt empty = {.struct_size = sizeof empty};
  FAILS(oxbow_sequence_reopen(f.engine, sequence, &empty, &reuse), OXBOW_INVALID_INPUT, "no tokens");
  const oxbow_token outside[] = {1, -4};
  const oxbow_prompt wrong = prompt_of(outside, 2);
  FAILS(oxbow_sequence_reopen(f.engine, sequence, &wrong, &reuse), OXBOW_INVALID_INPUT, "token -4 at 1");
  OK(oxbow_sequence_length(f.engine, sequence, &length));
  CHECK(length == 55);
  free(fresh);
  tear_down(&f);
}

void case_EvictedCheckpointsAreMissedAndNothingElse(void) {
  fixture f;
  oxbow_token tokens[kTokens];
  oxbow_engine_info info = {.struct_size = sizeof info};
  oxbow_reuse reuse = {.struct_size = sizeof reuse};
  oxbow_sequence sequence = 0;
  if (!set_up(&f, "granitehybrid-dense", NULL)) return;
  fill_tokens(tokens, kTokens, f.vocabulary, 17);
  const oxbow_prompt prompt = prompt_of(tokens, kTokens);
  OK(oxbow_sequence_open(f.engine, &prompt, &sequence, NULL));
  OK(oxbow_evaluate(f.engine, sequence, tokens, kTokens, NULL));
  OK(oxbow_sequence_drop(f.engine, sequence));
  OK(oxbow_engine_describe(f.engine, &info));
  CHECK(info.checkpoints > 0 && info.checkpoint_bytes > 0);
  OK(oxbow_engine_evict(f.engine, SIZE_MAX));
  OK(oxbow_engine_describe(f.engine, &info));
  CHECK(info.checkpoints == 0 && info.checkpoint_bytes == 0);
  OK(oxbow_sequence_open(f.engine, &prompt, &sequence, &reuse));
  CHECK(reuse.reused == 0 && reuse.reason == OXBOW_REASON_EVICTED);
  tear_down(&f);
}

void case_ASequenceNamesItsTokensAndItsEnd(void) {
  fixture f;
  oxbow_token tokens[kTokens], held[kTokens];
  oxbow_sequence sequence = 0;
  size_t count = 0, first = 0, last = 0;
  if (!set_up(&f, "llama", NULL)) return;
  fill_tokens(tokens, kTokens, f.vocabulary, 18);
  OK(oxbow_sequence_create(f.engine, NULL, &sequence));
  OK(oxbow_sequence_tokens(f.engine, sequence, NULL, 0, &count));
  CHECK(count == 0);
  OK(oxbow_sequence_reach(f.engine, sequence, &first, &last));
  CHECK(first == 0 && last == 0);
  OK(oxbow_evaluate(f.engine, sequence, tokens, kTokens, NULL));
  CHECK(oxbow_sequence_tokens(f.engine, sequence, NULL, 0, &count) == OXBOW_BUFFER_TOO_SMALL &&
        count == kTokens);
  OK(oxbow_sequence_tokens(f.engine, sequence, held, kTokens, &count));
  CHECK(count == kTokens && memcmp(held, tokens, sizeof held) == 0);
  OK(oxbow_sequence_drop(f.engine, sequence));
  FAILS(oxbow_sequence_drop(f.engine, sequence), OXBOW_NOT_FOUND, "sequence");
  FAILS(oxbow_sequence_length(f.engine, sequence, &count), OXBOW_NOT_FOUND, "sequence");
  FAILS(oxbow_sequence_reach(f.engine, sequence, &first, &last), OXBOW_NOT_FOUND, "sequence");
  FAILS(oxbow_sequence_tokens(f.engine, 0, held, kTokens, &count), OXBOW_NOT_FOUND, "sequence");
  tear_down(&f);
}

void case_TheEngineSaysWhatItsMemoryHolds(void) {
  fixture f;
  oxbow_token tokens[kTokens];
  oxbow_engine_info info = {.struct_size = sizeof info};
  oxbow_sequence sequence = 0;
  if (!set_up(&f, "granitehybrid-dense", NULL)) return;
  fill_tokens(tokens, kTokens, f.vocabulary, 19);
  OK(oxbow_engine_describe(f.engine, &info));
  CHECK(info.threads == 2 && info.max_step_tokens == 512 && info.max_outputs == 1 && info.reach_tokens >= 32);
  CHECK(info.budget_bytes == (size_t)64 << 20 && info.scratch_bytes > 0 && info.sequences == 0);
  CHECK(info.sequence_bytes == 0);
  OK(oxbow_sequence_create(f.engine, NULL, &sequence));
  OK(oxbow_evaluate(f.engine, sequence, tokens, kTokens, NULL));
  OK(oxbow_engine_describe(f.engine, &info));
  CHECK(info.sequences == 1 && info.sequence_bytes > 0);
  CHECK(info.scratch_bytes + info.sequence_bytes + info.checkpoint_bytes + info.free_bytes <=
        info.budget_bytes);
  OK(oxbow_sequence_drop(f.engine, sequence));
  OK(oxbow_engine_describe(f.engine, &info));
  CHECK(info.sequences == 0 && info.sequence_bytes == 0);
  tear_down(&f);
}
