// Text to tokens and back.

#include "c_api/arguments.h"
#include "c_api/objects.h"

using namespace oxbow;
using namespace oxbow::c_api;

namespace {

// A model that has a tokenizer, or the reason why it has none.
Result<std::shared_ptr<const ModelObject>> model_with_tokenizer(const oxbow_model* model) {
  OXBOW_ASSIGN(auto object, models().find(model));
  if (object->tokenizer == nullptr) return tl::unexpected<Error>(object->tokenizer_problem);
  return object;
}

Status check_flags(unsigned flags, unsigned known) {
  if ((flags & ~known) != 0)
    return fail(ErrorKind::kInvalidInput, "flags {:#x} are unknown here", flags & ~known);
  return {};
}

}  // namespace

oxbow_result oxbow_tokenize(const oxbow_model* model, const char* text, size_t text_bytes, unsigned flags,
                            oxbow_token* tokens, size_t capacity, size_t* count) {
  return guarded([&]() -> Outcome {
    OXBOW_ASSIGN(const auto object, model_with_tokenizer(model));
    OXBOW_ASSIGN(const auto bytes, list(text, text_bytes, "text"));
    OXBOW_TRY(check_flags(flags, OXBOW_ADD_SPECIAL | OXBOW_PARSE_SPECIAL));
    OXBOW_TRY(require(count, "count"));
    const text::EncodeOptions options{(flags & OXBOW_ADD_SPECIAL) != 0, (flags & OXBOW_PARSE_SPECIAL) != 0};
    const auto found = object->tokenizer->encode({bytes.data(), bytes.size()}, options);
    return copy_list(std::span<const oxbow_token>(found), tokens, capacity, count);
  });
}

oxbow_result oxbow_detokenize(const oxbow_model* model, const oxbow_token* tokens, size_t token_count,
                              unsigned flags, char* text, size_t capacity, size_t* count) {
  return guarded([&]() -> Outcome {
    OXBOW_ASSIGN(const auto object, model_with_tokenizer(model));
    OXBOW_ASSIGN(const auto ids, list(tokens, token_count, "tokens"));
    OXBOW_TRY(check_flags(flags, OXBOW_SHOW_SPECIAL));
    OXBOW_TRY(require(count, "count"));
    const std::string bytes = object->tokenizer->decode(ids, flags == OXBOW_SHOW_SPECIAL);
    return copy_list(std::span<const char>(bytes), text, capacity, count);
  });
}

oxbow_result oxbow_token_bytes(const oxbow_model* model, oxbow_token token, unsigned flags,
                               const char** bytes, size_t* size) {
  return guarded([&]() -> Outcome {
    OXBOW_ASSIGN(const auto object, model_with_tokenizer(model));
    OXBOW_TRY(check_flags(flags, OXBOW_SHOW_SPECIAL));
    OXBOW_TRY(require(bytes, "bytes"));
    OXBOW_TRY(require(size, "size"));
    const std::string_view found = object->tokenizer->token_bytes(token, flags == OXBOW_SHOW_SPECIAL);
    *bytes = found.empty() ? "" : found.data();
    *size = found.size();
    return {};
  });
}

oxbow_result oxbow_special_token(const oxbow_model* model, oxbow_special special, oxbow_token* token) {
  return guarded([&]() -> Outcome {
    OXBOW_ASSIGN(const auto object, model_with_tokenizer(model));
    OXBOW_TRY(require(token, "token"));
    const text::Vocabulary& vocabulary = object->tokenizer->vocabulary();
    std::optional<text::TokenId> found;
    switch (special) {
      case OXBOW_TOKEN_BEGIN:
        found = vocabulary.bos();
        break;
      case OXBOW_TOKEN_END:
        found = vocabulary.eos();
        break;
      case OXBOW_TOKEN_END_OF_TURN:
        found = vocabulary.eot();
        break;
      case OXBOW_TOKEN_UNKNOWN:
        found = vocabulary.unknown();
        break;
      case OXBOW_TOKEN_PADDING:
        found = vocabulary.padding();
        break;
      default:
        return fail(ErrorKind::kInvalidInput, "there is no special token number {}",
                    static_cast<int>(special));
    }
    *token = found.value_or(OXBOW_NO_TOKEN);
    return {};
  });
}

oxbow_result oxbow_is_end_of_generation(const oxbow_model* model, oxbow_token token, bool* ends) {
  return guarded([&]() -> Outcome {
    OXBOW_ASSIGN(const auto object, model_with_tokenizer(model));
    OXBOW_TRY(require(ends, "ends"));
    *ends = object->tokenizer->vocabulary().is_end_of_generation(token);
    return {};
  });
}
