#pragma once
// Values as people write them on the command line: numbers, sizes, lists of tokens. Strict: the whole text
// counts.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "memory/state_spec.h"

namespace oxbow::cli {

using memory::TokenId;

// A decimal integer or real number with nothing around it; "inf" and "nan" are none.
std::optional<int64_t> parse_integer(std::string_view text);
std::optional<double> parse_real(std::string_view text);

// Bytes: an integer, with K, M or G for powers of 1024 ("64M"). Nothing when it does not fit 63 bits.
std::optional<uint64_t> parse_size(std::string_view text);

// Counts as lists and ranges: "512,2048", "1-8", "128-512+128", "1-16*2". kInvalidInput when a part is none
// of these, or there are more than 64 counts.
Result<std::vector<size_t>> parse_counts(std::string_view text);

// Token ids separated by blanks or commas. kInvalidInput names the word and its place when it is no number
// from 0 to 2^31 - 1, or says that there is none.
Result<std::vector<TokenId>> parse_tokens(std::string_view text);

}  // namespace oxbow::cli
