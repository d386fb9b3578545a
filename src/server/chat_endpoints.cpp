#include "server/chat_request.h"
#include "server/generation.h"
#include "server/service.h"
#include "server/structures.h"
#include "server/tool_call_reader.h"

namespace oxbow::server {
namespace {

// Messages from the end of a conversation at whose beginnings checkpoints are kept.
constexpr size_t kBoundaryMessages = 8;

Checked<text::ChatText> render(const Service& service, const ChatRequest& request) {
  text::ChatInput input;
  input.messages = &request.messages;
  input.tools = request.tools.empty() ? nullptr : &request.tools;
  input.arguments = &request.template_arguments;
  input.add_generation_prompt = !request.continue_last;
  auto chat = request.continue_last ? service.format.render_open(input) : service.format.render(input);
  if (!chat)
    return tl::unexpected(
        ErrorAnswer{.code = "invalid_value", .message = chat.error().message, .parameter = "messages"});
  return std::move(*chat);
}

// How thoughts may stand in front of what the request constrains.
grammar::Preamble preamble_of(const ChatRequest& request, const text::ChatText& chat) {
  using Thoughts = grammar::Preamble::Thoughts;
  const text::ThinkingMarks* open = text::open_thinking(chat.text);
  if (open == nullptr || !request.split_thinking) return {};
  return {Thoughts::kOpen, open};
}

Checked<std::unique_ptr<engine::Constraint>> constraint_of(const Service& service, const ChatRequest& request,
                                                           const text::ToolCallFormat& calls,
                                                           const text::ChatText& chat) {
  using Kind = ToolChoice::Kind;
  const grammar::Preamble preamble = preamble_of(request, chat);
  if (request.tool_choice.kind == Kind::kRequired || request.tool_choice.kind == Kind::kNamed)
    return service.structures->call(calls, request, preamble);
  return service.structures->constraint(request.generation.structure, preamble);
}

Checked<PreparedPrompt> prepare(const Service& service, const ChatRequest& request) {
  auto chat = render(service, request);
  if (!chat) return tl::unexpected(std::move(chat).error());
  const text::ToolCallFormat calls =
      request.tools.empty() ? text::ToolCallFormat() : text::find_tool_call_format(service.format.source());
  if (!request.tools.empty() && calls.style == text::ToolCallStyle::kNone) {
    return tl::unexpected(
        invalid_value("tools",
                      "the model's chat template has no place for 'tools'; start the server "
                      "with a --chat-template-file that has, or leave them out"));
  }
  auto constraint = constraint_of(service, request, calls, *chat);
  if (!constraint) return tl::unexpected(std::move(constraint).error());
  PreparedPrompt prompt;
  prompt.field = "messages";
  prompt.constraint = std::move(*constraint);
  prompt.tokens = text::encode_chat(*service.tokenizer, *chat);
  prompt.boundaries = text::message_boundaries(service.format, service.tokenizer->vocabulary(), prompt.tokens,
                                               kBoundaryMessages);
  prompt.text.stop = request.generation.stop;
  if (!service.format.stop_text().empty()) prompt.text.stop.emplace_back(service.format.stop_text());
  prompt.text.split_thinking = request.split_thinking;
  prompt.text.open_thinking = text::open_thinking(chat->text);
  if (calls.style != text::ToolCallStyle::kNone)
    prompt.text.tool_calls = tool_call_readers(calls, request.tools);
  if (const auto stop = service.format.stop_token()) prompt.end_tokens.push_back(*stop);
  return prompt;
}

Checked<ChatRequest> read_request(const Service& service, const Request& request) {
  auto body = parse_body(request.body);
  if (!body) return tl::unexpected(std::move(body).error());
  return parse_chat_request(*body, service.sampling);
}

void chat(const std::shared_ptr<const Service>& service, const std::shared_ptr<Exchange>& exchange) {
  auto request = read_request(*service, exchange->request());
  if (!request) return exchange->respond(error_response(request.error()));
  auto prompt = prepare(*service, *request);
  if (!prompt) return exchange->respond(error_response(prompt.error()));
  std::vector<PreparedPrompt> prompts;
  prompts.push_back(std::move(*prompt));
  start_generation(service, exchange, request->generation, std::move(prompts),
                   chat_shape(new_identity(*service, "chatcmpl-")));
}

void apply_template(const Service& service, Exchange& exchange) {
  auto request = read_request(service, exchange.request());
  if (!request) return exchange.respond(error_response(request.error()));
  const auto text = render(service, *request);
  if (!text) return exchange.respond(error_response(text.error()));
  exchange.respond({.body = to_text({{"prompt", text->text}})});
}

}  // namespace

void add_chat_endpoints(Router& router, const ServiceSource& source) {
  constexpr RouteOptions kOptions{.needs_model = true};
  router.add(
      "POST", "/v1/chat/completions",
      [source](const std::shared_ptr<Exchange>& exchange) { chat(source(), exchange); }, kOptions);
  router.add(
      "POST", "/apply-template",
      [source](const std::shared_ptr<Exchange>& exchange) { apply_template(*source(), *exchange); },
      kOptions);
}

}  // namespace oxbow::server
