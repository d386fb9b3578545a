#pragma once
// Token ids that come from C.

#include <span>

#include "base/status.h"
#include "model/model.h"

namespace oxbow::c_api {

// kInvalidInput naming the first token that the model does not have.
inline Status check_tokens(std::span<const model::TokenId> tokens, const model::Model& model) {
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] < 0 || static_cast<size_t>(tokens[i]) >= model.vocabulary()) {
      return fail(ErrorKind::kInvalidInput, "token {} at {} is outside the vocabulary of {} tokens",
                  tokens[i], i, model.vocabulary());
    }
  }
  return {};
}

}  // namespace oxbow::c_api
