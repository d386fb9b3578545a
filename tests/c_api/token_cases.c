/* Text to tokens and back. */
#include "support.h"

static oxbow_model* load(const char* name) {
  const oxbow_model_options options = {.struct_size = sizeof options, .shapes_only = true};
  oxbow_model* model = NULL;
  CHECK(oxbow_model_load(golden_model(name), &options, &model) == OXBOW_OK);
  return model;
}

void case_TextBecomesTokensAndComesBack(void) {
  static const char text[] = "The river\nmoves on: \xc3\xa9, \xff\xfe, \0 and all.";
  oxbow_model* model = load("granitehybrid-dense");
  oxbow_token tokens[128];
  char back[128], joined[128];
  size_t count = 0, bytes = 0, joined_bytes = 0;
  OK(oxbow_tokenize(model, text, sizeof text - 1, 0, tokens, COUNT_OF(tokens), &count));
  CHECK(count > 4 && count <= sizeof text - 1);
  OK(oxbow_detokenize(model, tokens, count, 0, back, sizeof back, &bytes));
  CHECK(bytes == sizeof text - 1 && memcmp(back, text, bytes) == 0);
  for (size_t i = 0; i < count; ++i) {
    const char* piece = NULL;
    size_t size = 0;
    OK(oxbow_token_bytes(model, tokens[i], 0, &piece, &size));
    REQUIRE(joined_bytes + size <= sizeof joined);
    memcpy(joined + joined_bytes, piece, size);
    joined_bytes += size;
  }
  CHECK(joined_bytes == bytes && memcmp(joined, back, bytes) == 0);
  OK(oxbow_tokenize(model, NULL, 0, 0, NULL, 0, &count));
  CHECK(count == 0);
  OK(oxbow_detokenize(model, NULL, 0, 0, NULL, 0, &bytes));
  CHECK(bytes == 0);
  OK(oxbow_model_free(model));
}

void case_AShortBufferIsToldHowMuchIsNeeded(void) {
  oxbow_model* model = load("granitehybrid-dense");
  oxbow_token tokens[32];
  size_t count = 0, needed = 0;
  char text[8] = "-------";
  OK(oxbow_tokenize(model, "one two three", 13, 0, tokens, COUNT_OF(tokens), &needed));
  REQUIRE(needed >= 2);
  tokens[0] = -7;
  FAILS(oxbow_tokenize(model, "one two three", 13, 0, tokens, needed - 1, &count), OXBOW_BUFFER_TOO_SMALL,
        "room");
  CHECK(count == needed && tokens[0] == -7);
  CHECK(oxbow_tokenize(model, "one two three", 13, 0, NULL, SIZE_MAX, &count) == OXBOW_BUFFER_TOO_SMALL);
  OK(oxbow_tokenize(model, "one two three", 13, 0, tokens, needed, &count));
  CHECK(oxbow_detokenize(model, tokens, count, 0, text, 12, &count) == OXBOW_BUFFER_TOO_SMALL);
  CHECK(count == 13 && strcmp(text, "-------") == 0);
  OK(oxbow_model_free(model));
}

void case_UsersTextCannotBecomeControlTokens(void) {
  oxbow_model* model = load("granitehybrid-dense");
  oxbow_token end = OXBOW_NO_TOKEN, tokens[64];
  const char* spelled = NULL;
  size_t size = 0, count = 0;
  char shown[64];
  bool ends = false;
  OK(oxbow_special_token(model, OXBOW_TOKEN_END, &end));
  REQUIRE(end != OXBOW_NO_TOKEN);
  OK(oxbow_is_end_of_generation(model, end, &ends));
  CHECK(ends);
  OK(oxbow_token_bytes(model, end, OXBOW_SHOW_SPECIAL, &spelled, &size));
  REQUIRE(size > 2);
  OK(oxbow_tokenize(model, spelled, size, OXBOW_PARSE_SPECIAL, tokens, COUNT_OF(tokens), &count));
  CHECK(count == 1 && tokens[0] == end);
  OK(oxbow_detokenize(model, tokens, 1, 0, shown, sizeof shown, &count));
  CHECK(count == 0);
  OK(oxbow_detokenize(model, tokens, 1, OXBOW_SHOW_SPECIAL, shown, sizeof shown, &count));
  CHECK(count == size && memcmp(shown, spelled, size) == 0);
  OK(oxbow_tokenize(model, spelled, size, 0, tokens, COUNT_OF(tokens), &count));
  CHECK(count > 1);
  for (size_t i = 0; i < count; ++i) {
    CHECK(tokens[i] != end);
    OK(oxbow_is_end_of_generation(model, tokens[i], &ends));
    CHECK(!ends);
  }
  FAILS(oxbow_special_token(model, (oxbow_special)99, &end), OXBOW_INVALID_INPUT, "99");
  FAILS(oxbow_tokenize(model, "a", 1, 64, tokens, 1, &count), OXBOW_INVALID_INPUT, "0x40");
  OK(oxbow_model_free(model));
}

void case_TokensOutsideTheVocabularyAreEmpty(void) {
  static const oxbow_token strange[] = {-1, INT32_MIN, INT32_MAX, 100000};
  oxbow_model* model = load("granitehybrid-dense");
  char text[8];
  size_t count = 9;
  OK(oxbow_detokenize(model, strange, COUNT_OF(strange), 0, text, sizeof text, &count));
  CHECK(count == 0);
  for (size_t i = 0; i < COUNT_OF(strange); ++i) {
    const char* bytes = NULL;
    bool ends = true;
    OK(oxbow_token_bytes(model, strange[i], 0, &bytes, &count));
    CHECK(count == 0 && bytes != NULL);
    OK(oxbow_is_end_of_generation(model, strange[i], &ends));
    CHECK(!ends);
  }
  OK(oxbow_model_free(model));
}
