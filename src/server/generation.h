#pragma once
// Starts the answers of a request and leads them to the client.

#include <memory>
#include <string>
#include <vector>

#include "server/delivery.h"
#include "server/generation_request.h"
#include "server/service.h"

namespace oxbow::server {

// A prompt in tokens, ready to be answered.
struct PreparedPrompt {
  std::string field = "prompt";  // of the request, for errors
  std::vector<engine::TokenId> tokens;
  std::vector<size_t> boundaries;
  AnswerTextOptions text;  // stop texts of the format included
  std::vector<engine::TokenId> end_tokens;
  std::unique_ptr<engine::Constraint> constraint;
};

// Submits the prompts of one exchange, `request.choices` answers each, and returns; the answers reach the
// exchange from the scheduler's thread. When the client leaves, what is left is cancelled. Errors, before
// anything was sent: 400 for a prompt above the context (both numbers and the flag), 429 for a full queue,
// 503 while the server shuts down.
void start_generation(const std::shared_ptr<const Service>& service, std::shared_ptr<Exchange> exchange,
                      const GenerationRequest& request, std::vector<PreparedPrompt> prompts,
                      std::unique_ptr<const AnswerShape> shape, std::vector<std::string> echo = {});

// A new identity: `prefix` and 24 letters and digits.
AnswerIdentity new_identity(const Service& service, std::string_view prefix);
// `size` letters and digits that nobody can guess.
std::string random_name(size_t size);

}  // namespace oxbow::server
