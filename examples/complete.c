/* Completes a text, then completes it again with more text behind it, and says what did not have to be
 * computed a second time.
 *
 *   complete MODEL.gguf "Once upon a time" " The end was near, when"
 */
#include <oxbow/oxbow.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMostTokens = 4096, kAnswerTokens = 24 };

static void must(oxbow_result status) {
  if (status == OXBOW_OK) return;
  fprintf(stderr, "%s: %s\n", oxbow_result_name(status), oxbow_last_error());
  exit(1);
}

/* Appends the tokens of a text. */
static void add_text(const oxbow_model* model, const char* text, oxbow_token* tokens, size_t* count) {
  size_t added = 0;
  const unsigned flags = *count == 0 ? OXBOW_ADD_SPECIAL : 0;
  must(oxbow_tokenize(model, text, strlen(text), flags, tokens + *count, kMostTokens - *count, &added));
  *count += added;
}

/* Brings a new sequence to the tokens, then appends what the model writes behind them. */
static void answer(const oxbow_model* model, oxbow_engine* engine, oxbow_sampler* sampler,
                   oxbow_token* tokens, size_t* count, size_t vocabulary) {
  oxbow_sequence sequence;
  const float* logits;
  oxbow_reuse reuse = {.struct_size = sizeof reuse};
  const oxbow_prompt prompt = {.struct_size = sizeof prompt, .tokens = tokens, .token_count = *count};
  must(oxbow_sequence_open(engine, &prompt, &sequence, &reuse));
  must(oxbow_evaluate(engine, sequence, tokens + reuse.reused, reuse.recompute, &logits));
  printf("[reused %zu of %zu tokens; the rest: %s]\n", reuse.reused, *count, oxbow_reason_name(reuse.reason));

  for (int i = 0; i < kAnswerTokens && *count < kMostTokens; ++i) {
    oxbow_token token;
    const char* bytes;
    size_t size;
    bool ends;
    must(oxbow_sampler_sample(sampler, logits, vocabulary, tokens, *count, &token));
    must(oxbow_is_end_of_generation(model, token, &ends));
    if (ends) break;
    must(oxbow_token_bytes(model, token, 0, &bytes, &size));
    fwrite(bytes, 1, size, stdout);
    tokens[(*count)++] = token;
    must(oxbow_evaluate(engine, sequence, &token, 1, &logits));
  }
  printf("\n");
  must(oxbow_sequence_keep(engine, sequence)); /* the next prompt continues here */
  must(oxbow_sequence_drop(engine, sequence));
}

int main(int argc, char** argv) {
  oxbow_model* model;
  oxbow_engine* engine;
  oxbow_sampler* sampler;
  oxbow_model_info info = {.struct_size = sizeof info};
  static oxbow_token tokens[kMostTokens];
  size_t count = 0;
  if (argc < 3) {
    fprintf(stderr, "usage: %s MODEL.gguf TEXT [MORE TEXT ...]\n", argv[0]);
    return 2;
  }
  must(oxbow_model_load(argv[1], NULL, &model));
  must(oxbow_model_describe(model, &info));
  must(oxbow_engine_create(model, NULL, &engine));
  must(oxbow_sampler_create(NULL, &sampler));
  for (int i = 2; i < argc; ++i) {
    add_text(model, argv[i], tokens, &count);
    if (count > 0) answer(model, engine, sampler, tokens, &count, info.vocabulary);
  }
  must(oxbow_sampler_free(sampler));
  must(oxbow_engine_free(engine));
  must(oxbow_model_free(model));
  return 0;
}
