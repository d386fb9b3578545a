#pragma once
// Numbers as people read them, and the line after an answer.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace oxbow::cli {

struct Statistics {
  size_t answer_tokens = 0;
  size_t answer_steps = 0;    // tokens of the answer that were evaluated; the last one often is not
  double answer_seconds = 0;  // from the end of the prompt to the last token
  size_t prompt_tokens = 0;
  size_t reused_tokens = 0;   // of the prompt, not evaluated again
  size_t matched_tokens = 0;  // of the prompt, known; those that were not reused could not be resumed
  std::string_view miss;      // why not more was reused
  double prompt_seconds = 0;
  double first_token_seconds = 0;  // from the start of the prompt; 0: there was none
  size_t context_used = 0;         // tokens
  size_t context_size = 0;

  double answer_rate() const;  // evaluated tokens a second; 0 when unknown
  double prompt_rate() const;  // of the evaluated ones
};

// "214 tok · 12.3 t/s · prompt 3 412 (2 048 cached) 512 t/s · first token 2.7 s · ctx 5.6k/32k"
std::string format_statistics(const Statistics& statistics);

std::string format_count(uint64_t count);    // "3 412"
std::string format_kilo(uint64_t count);     // "5.6k", units of 1024
std::string format_bytes(uint64_t bytes);    // "1.5 MB", units of 1024
std::string format_rate(double per_second);  // "12.3", "512"
std::string format_seconds(double seconds);  // "0.24 s", "2.7 s", "3 min 5 s"

}  // namespace oxbow::cli
