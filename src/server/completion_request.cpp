#include "server/completion_request.h"

#include <algorithm>
#include <limits>

namespace oxbow::server {
namespace {

constexpr size_t kDefaultTokens = 16;  // of OpenAI's interface

bool is_token(const Json& json) {
  return json.is_number_integer() && json >= 0 && json <= std::numeric_limits<engine::TokenId>::max();
}

bool is_tokens(const Json& json) {
  return json.is_array() && !json.empty() && std::ranges::all_of(json, is_token);
}

constexpr std::string_view kPromptForms =
    "a text, an array of texts, an array of token ids or an array of those";

std::optional<TextPrompt> one_prompt(const Json& json) {
  if (json.is_string()) return json.get<std::string>();
  if (is_tokens(json)) return json.get<std::vector<engine::TokenId>>();
  return std::nullopt;
}

void read_prompts(Fields& fields, std::vector<TextPrompt>& prompts) {
  const Json* prompt = fields.any("prompt");
  if (prompt == nullptr) return fields.missing("prompt");
  if (auto one = one_prompt(*prompt)) return prompts.push_back(std::move(*one));
  if (!prompt->is_array() || prompt->empty()) return fields.wrong("prompt", kPromptForms);
  if (prompt->size() > kMostPrompts) {
    return fields.fail(invalid_value(
        "prompt", fmt::format("'prompt' has {} entries; expected {} at most", prompt->size(), kMostPrompts)));
  }
  for (const Json& each : *prompt) {
    auto one = one_prompt(each);
    if (!one) return fields.wrong("prompt", kPromptForms);
    prompts.push_back(std::move(*one));
  }
}

void read_best_of(Fields& fields, const GenerationRequest& generation) {
  size_t best_of = generation.choices;
  if (fields.read("best_of", best_of, 1, kMostChoices) && best_of != generation.choices)
    fields.fail(invalid_value("best_of", "'best_of' other than 'n' is not supported"));
}

}  // namespace

Checked<CompletionRequest> parse_completion_request(const Json& body,
                                                    const engine::SamplerSettings& defaults) {
  Fields fields(body);
  CompletionRequest request;
  GenerationRequest& generation = request.generation;
  generation.sampling = defaults;
  generation.max_tokens = kDefaultTokens;
  read_prompts(fields, request.prompts);
  read_generation(fields, generation);
  read_text_logprobs(fields, generation);
  read_best_of(fields, generation);
  fields.read("echo", request.echo);
  std::string suffix;
  if (fields.read("suffix", suffix) && !suffix.empty())
    fields.fail(invalid_value("suffix", "'suffix' is not supported: the model has no tokens for it"));
  if (request.echo && generation.logprobs)
    fields.fail(invalid_value("echo", "'echo' with 'logprobs' is not supported: a prompt has none here"));
  if (request.prompts.size() * generation.choices > kMostChoices) {
    fields.fail(invalid_value("n", fmt::format("{} prompts with {} answers each; expected {} answers at most",
                                               request.prompts.size(), generation.choices, kMostChoices)));
  }
  if (fields.error()) return tl::unexpected(*fields.error());
  return request;
}

Checked<CompletionRequest> parse_native_request(const Json& body, const engine::SamplerSettings& defaults) {
  Fields fields(body);
  CompletionRequest request;
  GenerationRequest& generation = request.generation;
  generation.sampling = defaults;
  read_prompts(fields, request.prompts);
  read_generation(fields, generation);
  if (request.prompts.size() > 1) fields.fail(invalid_value("prompt", "expected one prompt"));
  if (generation.choices > 1)
    fields.fail(invalid_value("n", "this endpoint gives one answer; /v1/completions gives several"));
  fields.read("n_probs", generation.top_logprobs, 0, 20);
  generation.logprobs = generation.top_logprobs > 0;
  if (fields.error()) return tl::unexpected(*fields.error());
  return request;
}

}  // namespace oxbow::server
