#include "server/completion_request.h"
#include "server/generation.h"
#include "server/service.h"
#include "server/structures.h"

namespace oxbow::server {
namespace {

using Parse = Checked<CompletionRequest> (*)(const Json& body, const engine::SamplerSettings& defaults);
using Shape = std::unique_ptr<AnswerShape> (*)(AnswerIdentity identity);

Checked<std::vector<engine::TokenId>> tokens_of(const Service& service, const TextPrompt& prompt) {
  if (const auto* text = std::get_if<std::string>(&prompt))
    return service.tokenizer->encode(*text, {.add_special = true, .parse_special = true});
  const auto& tokens = std::get<std::vector<engine::TokenId>>(prompt);
  const size_t vocabulary = service.tokenizer->vocabulary().size();
  for (const engine::TokenId token : tokens) {
    if (static_cast<size_t>(token) >= vocabulary)
      return tl::unexpected(invalid_value(
          "prompt", fmt::format("token {} is outside of the vocabulary of {}", token, vocabulary)));
  }
  return tokens;
}

std::string text_of(const Service& service, const TextPrompt& prompt) {
  if (const auto* text = std::get_if<std::string>(&prompt)) return *text;
  return service.tokenizer->decode(std::get<std::vector<engine::TokenId>>(prompt));
}

Checked<PreparedPrompt> prepare(const Service& service, const GenerationRequest& request,
                                const TextPrompt& text) {
  PreparedPrompt prompt;
  auto tokens = tokens_of(service, text);
  if (!tokens) return tl::unexpected(std::move(tokens).error());
  auto constraint = service.structures->constraint(request.structure, {});
  if (!constraint) return tl::unexpected(std::move(constraint).error());
  prompt.tokens = std::move(*tokens);
  prompt.constraint = std::move(*constraint);
  prompt.text.stop = request.stop;
  prompt.text.split_thinking = false;
  return prompt;
}

void complete(const std::shared_ptr<const Service>& service, const std::shared_ptr<Exchange>& exchange,
              Parse parse, std::unique_ptr<const AnswerShape> shape) {
  auto body = parse_body(exchange->request().body);
  if (!body) return exchange->respond(error_response(body.error()));
  auto request = parse(*body, service->sampling);
  if (!request) return exchange->respond(error_response(request.error()));
  std::vector<PreparedPrompt> prompts;
  std::vector<std::string> echo;
  for (const TextPrompt& text : request->prompts) {
    auto prompt = prepare(*service, request->generation, text);
    if (!prompt) return exchange->respond(error_response(prompt.error()));
    prompts.push_back(std::move(*prompt));
    if (!request->echo) continue;
    for (size_t i = 0; i < request->generation.choices; ++i) echo.push_back(text_of(*service, text));
  }
  start_generation(service, exchange, request->generation, std::move(prompts), std::move(shape),
                   std::move(echo));
}

void add(Router& router, const ServiceSource& source, const char* path, Parse parse, Shape shape) {
  router.add("POST", path,
             [=](const std::shared_ptr<Exchange>& exchange) {
               const auto service = source();
               complete(service, exchange, parse, shape(new_identity(*service, "cmpl-")));
             },
             {.needs_model = true});
}

}  // namespace

void add_completion_endpoints(Router& router, const ServiceSource& source) {
  add(router, source, "/v1/completions", parse_completion_request, text_shape);
  add(router, source, "/completion", parse_native_request, native_shape);
}

}  // namespace oxbow::server
