#include "server/fields.h"
#include "server/service.h"
#include "text/stream_decoder.h"

namespace oxbow::server {
namespace {

constexpr size_t kMostTokens = 1 << 20;

// Text, or its bytes where a token ends within a character.
Json piece_of(std::string_view bytes) {
  text::Utf8Stream stream;
  std::string text;
  stream.push(bytes, text);
  stream.flush(text);
  if (text == bytes) return text;
  Json numbers = Json::array();
  for (const char byte : bytes) numbers.push_back(static_cast<uint8_t>(byte));
  return numbers;
}

// {content, add_special, parse_special, with_pieces} -> {tokens}
void tokenize(const Service& service, Exchange& exchange) {
  const auto body = parse_body(exchange.request().body);
  if (!body) return exchange.respond(error_response(body.error()));
  Fields fields(*body);
  std::string content;
  text::EncodeOptions options{.add_special = false, .parse_special = true};
  bool with_pieces = false;
  if (!fields.read("content", content) && !fields.error()) fields.missing("content");
  fields.read("add_special", options.add_special);
  fields.read("parse_special", options.parse_special);
  fields.read("with_pieces", with_pieces);
  if (fields.error()) return exchange.respond(error_response(*fields.error()));
  Json tokens = Json::array();
  for (const auto id : service.tokenizer->encode(content, options)) {
    if (with_pieces) {
      tokens.push_back({{"id", id}, {"piece", piece_of(service.tokenizer->token_bytes(id, true))}});
    } else {
      tokens.push_back(id);
    }
  }
  exchange.respond({.body = to_text({{"tokens", tokens}})});
}

// {tokens} -> {content}
void detokenize(const Service& service, Exchange& exchange) {
  const auto body = parse_body(exchange.request().body);
  if (!body) return exchange.respond(error_response(body.error()));
  Fields fields(*body);
  const Json* given = fields.array("tokens");
  if (given == nullptr && !fields.error()) fields.missing("tokens");
  if (given != nullptr && given->size() > kMostTokens) fields.wrong("tokens", "fewer tokens");
  std::vector<engine::TokenId> tokens;
  const auto size = static_cast<int64_t>(service.tokenizer->vocabulary().size());
  for (size_t i = 0; !fields.error() && i < given->size(); ++i) {
    const Json& token = (*given)[i];
    if (!token.is_number_integer() || token < 0 || token >= size) {
      const std::string path = fmt::format("tokens[{}]", i);
      fields.fail(invalid_value(path, fmt::format("'{}' must be a token id from 0 to {}", path, size - 1)));
    } else {
      tokens.push_back(token.get<engine::TokenId>());
    }
  }
  if (fields.error()) return exchange.respond(error_response(*fields.error()));
  exchange.respond({.body = to_text({{"content", service.tokenizer->decode(tokens, true)}})});
}

}  // namespace

void add_token_endpoints(Router& router, const ServiceSource& source) {
  constexpr RouteOptions kOptions{.needs_model = true};
  router.add(
      "POST", "/tokenize",
      [source](const std::shared_ptr<Exchange>& exchange) { tokenize(*source(), *exchange); }, kOptions);
  router.add(
      "POST", "/detokenize",
      [source](const std::shared_ptr<Exchange>& exchange) { detokenize(*source(), *exchange); }, kOptions);
}

}  // namespace oxbow::server
