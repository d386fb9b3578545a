#include "server/generation_request.h"

#include <charconv>
#include <limits>

namespace oxbow::server {
namespace {

constexpr int64_t kMostTokens = std::numeric_limits<int32_t>::max();

void read_sampling(Fields& fields, GenerationRequest& request) {
  engine::SamplerSettings& sampling = request.sampling;
  fields.read("temperature", sampling.temperature, 0, 100);
  fields.read("top_k", sampling.top_k, -1, kMostTokens);
  if (sampling.top_k == static_cast<size_t>(-1)) sampling.top_k = 0;  // other servers' word for all
  fields.read("top_p", sampling.top_p, 0, 1);
  fields.read("min_p", sampling.min_p, 0, 1);
  constexpr double kSmallest = 1e-3;  // 0 would divide by it
  fields.read("repetition_penalty", sampling.repeat_penalty, kSmallest, 100);
  fields.read("repeat_penalty", sampling.repeat_penalty, kSmallest, 100);
  fields.read("repeat_last_n", sampling.repeat_last_n, -1, kMostTokens);
  fields.read("presence_penalty", sampling.presence_penalty, -100, 100);
  fields.read("frequency_penalty", sampling.frequency_penalty, -100, 100);
  int64_t seed = -1;
  fields.read("seed", seed, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max());
  if (seed != -1) request.seed = static_cast<uint64_t>(seed);
}

void read_stop(Fields& fields, std::vector<std::string>& stop) {
  const Json* value = fields.any("stop");
  if (value == nullptr) return;
  const auto add = [&](const Json& one, const std::string& path) {
    if (!one.is_string()) {
      return fields.fail(invalid_value(
          path,
          fmt::format("'{}' is {}; 'stop' must be a string or an array of strings", path, type_name(one))));
    }
    const auto& text = one.get_ref<const std::string&>();
    if (text.size() > kLongestStopBytes) {
      return fields.fail(invalid_value(
          "stop",
          fmt::format("a text of 'stop' has {} bytes; expected {} at most", text.size(), kLongestStopBytes)));
    }
    if (!text.empty()) stop.push_back(text);
  };
  if (!value->is_array()) return add(*value, "stop");
  if (value->size() > kMostStops) {
    return fields.fail(invalid_value(
        "stop", fmt::format("'stop' has {} texts; expected {} at most", value->size(), kMostStops)));
  }
  for (size_t i = 0; i < value->size(); ++i) add((*value)[i], fmt::format("stop[{}]", i));
}

std::optional<engine::TokenId> token_of(std::string_view text) {
  engine::TokenId id = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error != std::errc() || end != text.data() + text.size() || id < 0) return std::nullopt;
  return id;
}

// {"15043": -100} as in OpenAI's interface, or [[15043, -1.5], [2, false]]; false: never.
class LogitBiasReader {
 public:
  LogitBiasReader(Fields& fields, std::vector<engine::LogitBias>& out) : fields_(fields), out_(out) {}

  void read() {
    const Json* value = fields_.any("logit_bias");
    if (value == nullptr) return;
    if (!value->is_object() && !value->is_array())
      return fields_.wrong("logit_bias", "an object of token ids and numbers");
    if (value->size() > kMostLogitBiases) {
      return refuse(
          fmt::format("'logit_bias' has {} entries; expected {} at most", value->size(), kMostLogitBiases));
    }
    for (const auto& [key, entry] : value->items()) {
      if (value->is_object()) {
        add(token_of(key), entry);
      } else if (entry.is_array() && entry.size() == 2) {
        add(entry[0].is_number_integer() ? token_of(entry[0].dump()) : std::nullopt, entry[1]);
      } else {
        refuse("an entry of 'logit_bias' is no pair of a token id and a number");
      }
    }
  }

 private:
  void add(std::optional<engine::TokenId> token, const Json& bias) {
    if (!token) return refuse("a key of 'logit_bias' is no token id");
    if (bias == false) return out_.push_back({*token, -std::numeric_limits<float>::infinity()});
    const double number = bias.is_number() ? bias.get<double>() : 1000.0;
    if (!(number >= -100 && number <= 100)) {
      return refuse(fmt::format("'logit_bias' of token {} is {}; expected a number from -100 to 100", *token,
                                bias.is_number() ? bias.dump() : std::string(type_name(bias))));
    }
    out_.push_back({*token, static_cast<float>(number)});
  }
  void refuse(std::string message) { fields_.fail(invalid_value("logit_bias", std::move(message))); }

  Fields& fields_;
  std::vector<engine::LogitBias>& out_;
};

void read_limits(Fields& fields, GenerationRequest& request) {
  for (const char* name : {"n_predict", "max_tokens", "max_completion_tokens"}) {  // the last one wins
    int64_t tokens = -1;
    if (!fields.read(name, tokens, -1, kMostTokens)) continue;
    if (tokens == 0) {
      fields.fail(
          invalid_value(name, fmt::format("'{}' is 0; expected 1 or more, or -1 for no limit", name)));
    }
    request.max_tokens.reset();
    if (tokens > 0) request.max_tokens = static_cast<size_t>(tokens);
  }
  fields.read("n_cmpl", request.choices, 1, kMostChoices);
  fields.read("n", request.choices, 1, kMostChoices);
}

void read_delivery(Fields& fields, GenerationRequest& request) {
  fields.read("stream", request.stream);
  if (const Json* options = fields.object("stream_options")) {
    Fields inner(*options, fields.path_of("stream_options"));
    inner.read("include_usage", request.include_usage);
    fields.join(inner);
  }
  fields.read("return_progress", request.return_progress);
  fields.read("timings_per_token", request.timings_per_token);
  fields.read("cache_prompt", request.cache_prompt);
  fields.read("cache_salt", request.cache_salt, 256);
  int64_t slot = -1;
  fields.read("id_slot", slot, -1, kMostTokens);
  if (slot >= 0) request.slot = static_cast<size_t>(slot);
}

}  // namespace

void read_generation(Fields& fields, GenerationRequest& request) {
  fields.read("model", request.model);
  read_sampling(fields, request);
  read_limits(fields, request);
  read_stop(fields, request.stop);
  LogitBiasReader(fields, request.logit_bias).read();
  fields.read("ignore_eos", request.ignore_eos);
  read_structure(fields, request.structure);
  read_delivery(fields, request);
}

void read_chat_logprobs(Fields& fields, GenerationRequest& request) {
  fields.read("logprobs", request.logprobs);
  const bool given = fields.read("top_logprobs", request.top_logprobs, 0, 20);
  if (given && request.top_logprobs > 0 && !request.logprobs)
    fields.fail(invalid_value("top_logprobs", "'top_logprobs' needs 'logprobs' to be true"));
}

void read_text_logprobs(Fields& fields, GenerationRequest& request) {
  request.logprobs = fields.read("logprobs", request.top_logprobs, 0, 5);
}

namespace {

void read_response_format(Fields& fields, Structure& structure) {
  const Json* format = fields.object("response_format");
  if (format == nullptr) return;
  Fields inner(*format, fields.path_of("response_format"));
  std::string type;
  if (!inner.read("type", type) && !inner.error()) inner.missing("type");
  if (type == "json_object" || type == "json_schema") {
    structure.kind = Structure::Kind::kJsonObject;
    structure.path = "response_format";
    const Json* holder = inner.object("json_schema");
    const Json* schema = nullptr;
    if (holder != nullptr && holder->contains("schema")) {
      schema = &holder->at("schema");
      structure.path = "response_format.json_schema.schema";
    } else if ((schema = inner.any("schema")) != nullptr) {
      structure.path = "response_format.schema";
    }
    if (schema != nullptr) {
      structure.kind = Structure::Kind::kJsonSchema;
      structure.schema = *schema;
    } else if (type == "json_schema" && holder == nullptr) {
      inner.missing("json_schema");
    }
  } else if (type != "text" && !inner.error()) {
    inner.fail(invalid_value(inner.path_of("type"),
                             "'response_format.type' must be text, json_object or json_schema"));
  }
  fields.join(inner);
}

}  // namespace

void read_structure(Fields& fields, Structure& structure) {
  read_response_format(fields, structure);
  const auto set = [&](Structure::Kind kind, const char* name) {
    if (structure.kind != Structure::Kind::kFree) {
      return fields.fail(invalid_value(
          name, fmt::format("'{}' and '{}' both ask for a form of the answer", structure.path, name)));
    }
    structure.kind = kind;
    structure.path = name;
  };
  if (const Json* schema = fields.any("json_schema")) {
    set(Structure::Kind::kJsonSchema, "json_schema");
    structure.schema = *schema;
  }
  std::string grammar;
  if (fields.read("grammar", grammar) && !grammar.empty()) {
    set(Structure::Kind::kGrammar, "grammar");
    structure.grammar = std::move(grammar);
  }
}

std::string partition_of(std::string_view client, std::string_view cache_salt) {
  // A digest of a key has no line break, so no salt can make one client look like another.
  if (cache_salt.empty()) return std::string(client);
  return fmt::format("{}\n{}", client, cache_salt);
}

}  // namespace oxbow::server
