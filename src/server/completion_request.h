#pragma once
// The bodies of POST /v1/completions and POST /completion.

#include <variant>

#include "server/generation_request.h"

namespace oxbow::server {

// One prompt: text, or tokens as they are.
using TextPrompt = std::variant<std::string, std::vector<engine::TokenId>>;

struct CompletionRequest {
  GenerationRequest generation;
  std::vector<TextPrompt> prompts;  // never empty
  bool echo = false;                // the prompt's text in front of the answer
};

inline constexpr size_t kMostPrompts = 128;

// POST /v1/completions: 16 tokens unless asked otherwise. Errors: 400 with the field's name.
Checked<CompletionRequest> parse_completion_request(const Json& body,
                                                    const engine::SamplerSettings& defaults);

// POST /completion: one prompt, until the end unless asked otherwise, `n_probs` alternatives.
Checked<CompletionRequest> parse_native_request(const Json& body, const engine::SamplerSettings& defaults);

}  // namespace oxbow::server
