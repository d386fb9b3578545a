#pragma once
// What the requests for answers have in common: sampling, limits, stop texts, how the answer is delivered.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/request.h"
#include "server/fields.h"

namespace oxbow::server {

// The text that an answer must be.
struct Structure {
  enum class Kind { kFree, kJsonObject, kJsonSchema, kGrammar };
  Kind kind = Kind::kFree;
  Json schema;          // of kJsonSchema
  std::string grammar;  // GBNF, of kGrammar
  std::string path;     // the field it came from, for errors
};

struct GenerationRequest {
  std::string model;                 // as asked for; empty: any
  engine::SamplerSettings sampling;  // what was not given is the model's; the seed only where `seed` is set
  std::optional<uint64_t> seed;      // nothing: another one each time
  std::vector<engine::LogitBias> logit_bias;
  std::optional<size_t> max_tokens;
  std::vector<std::string> stop;
  size_t choices = 1;
  bool logprobs = false;
  size_t top_logprobs = 0;
  bool ignore_eos = false;
  Structure structure;

  bool stream = false;
  bool include_usage = false;
  bool return_progress = false;
  bool timings_per_token = false;

  bool cache_prompt = true;
  std::optional<size_t> slot;  // preferred
  std::string cache_salt;      // see partition_of()
};

inline constexpr size_t kMostChoices = 128;
inline constexpr size_t kMostStops = 16;
inline constexpr size_t kLongestStopBytes = 1024;
inline constexpr size_t kMostLogitBiases = 1024;

// Reads the fields that all endpoints share; errors stay in `fields`. request.sampling holds the model's
// settings when it is called.
void read_generation(Fields& fields, GenerationRequest& request);

// `logprobs` of the chat endpoint and of the text endpoints differ.
void read_chat_logprobs(Fields& fields, GenerationRequest& request);  // boolean, top_logprobs 0 to 20
void read_text_logprobs(Fields& fields, GenerationRequest& request);  // number of alternatives, 0 to 5

// `response_format`, `json_schema` and `grammar`; at most one may ask for a structure.
void read_structure(Fields& fields, Structure& structure);

// Answers to which of a server's clients share cached prefixes: `client` is empty where all are one.
std::string partition_of(std::string_view client, std::string_view cache_salt);

}  // namespace oxbow::server
