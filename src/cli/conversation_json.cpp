#include "cli/conversation_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace oxbow::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;
constexpr size_t kMostTurns = size_t{1} << 20;

tl::unexpected<Error> damaged(std::string_view what) {
  return fail(ErrorKind::kInvalidInput, "the saved conversation {}", what);
}

Result<std::string> text_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_string()) return damaged(fmt::format("has no text \"{}\"", key));
  return found->get<std::string>();
}

Result<std::vector<uint64_t>> numbers_of(const Json& object, const char* key, uint64_t below) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array()) return damaged(fmt::format("has no list \"{}\"", key));
  std::vector<uint64_t> numbers;
  for (const Json& number : *found) {
    if (!number.is_number_unsigned() || number.get<uint64_t>() >= below)
      return damaged(fmt::format("has an entry of \"{}\" that is not a number below {}", key, below));
    numbers.push_back(number.get<uint64_t>());
  }
  return numbers;
}

Result<std::vector<TokenId>> tokens_of(const Json& object, const char* key, size_t vocabulary) {
  OXBOW_ASSIGN(const std::vector<uint64_t> numbers, numbers_of(object, key, vocabulary));
  return std::vector<TokenId>(numbers.begin(), numbers.end());
}

Json turn_json(const Turn& turn) {
  return {{"parent", turn.parent},
          {"question", turn.question},
          {"answer", turn.answer_text},
          {"answer_tokens", turn.answer},
          {"prompt", turn.prompt.text},
          {"prompt_breaks", turn.prompt.breaks},
          {"prompt_tokens", turn.prompt_tokens},
          {"reused", turn.reused},
          {"evaluated", turn.evaluated}};
}

Result<size_t> count_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number_unsigned())
    return damaged(fmt::format("has no number \"{}\"", key));
  return found->get<size_t>();
}

Result<Turn> read_turn(const Json& json, size_t number, size_t vocabulary) {
  if (!json.is_object()) return damaged("has a turn that is no object");
  Turn turn;
  OXBOW_ASSIGN(turn.parent, count_of(json, "parent"));
  if (turn.parent >= number) return damaged("has a turn that comes before the one it answers");
  OXBOW_ASSIGN(turn.question, text_of(json, "question"));
  OXBOW_ASSIGN(turn.answer_text, text_of(json, "answer"));
  OXBOW_ASSIGN(turn.reused, count_of(json, "reused"));
  OXBOW_ASSIGN(turn.evaluated, count_of(json, "evaluated"));
  if (vocabulary == 0) return turn;
  OXBOW_ASSIGN(turn.answer, tokens_of(json, "answer_tokens", vocabulary));
  OXBOW_ASSIGN(turn.prompt_tokens, tokens_of(json, "prompt_tokens", vocabulary));
  OXBOW_ASSIGN(turn.prompt.text, text_of(json, "prompt"));
  OXBOW_ASSIGN(const auto breaks, numbers_of(json, "prompt_breaks", turn.prompt.text.size() + 1));
  turn.prompt.breaks.assign(breaks.begin(), breaks.end());
  if (!std::ranges::is_sorted(turn.prompt.breaks)) return damaged("has breaks out of order");
  return turn;
}

}  // namespace

std::string to_json(const Conversation& conversation) {
  Json json;
  json["version"] = kVersion;
  json["system"] = conversation.system();
  json["current"] = conversation.current();
  json["turns"] = Json::array();
  for (size_t i = 1; i <= conversation.turn_count(); ++i)
    json["turns"].push_back(turn_json(conversation.turn(i)));
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Status from_json(std::string_view text, size_t vocabulary, Conversation& conversation) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return damaged("is no JSON object");
  OXBOW_ASSIGN(const size_t version, count_of(json, "version"));
  if (version != kVersion)
    return damaged(fmt::format("has version {}, this Oxbow reads {}", version, kVersion));
  OXBOW_ASSIGN(std::string system, text_of(json, "system"));
  OXBOW_ASSIGN(const size_t current, count_of(json, "current"));
  const auto turns = json.find("turns");
  if (turns == json.end() || !turns->is_array() || turns->size() > kMostTurns)
    return damaged("has no list of turns");
  std::vector<Turn> read(1);
  for (const Json& turn : *turns) {
    OXBOW_ASSIGN(Turn one, read_turn(turn, read.size(), vocabulary));
    read.push_back(std::move(one));
  }
  if (current >= read.size()) return damaged("stands at a turn that it does not have");
  conversation.replace(std::move(system), std::move(read), current);
  return {};
}

}  // namespace oxbow::cli
