#pragma once
// Finds the tokens that are recognised in text as they are written: control, unknown and user-defined ones.

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "text/vocabulary.h"

namespace oxbow::text {

// Immutable, keeps a reference to the vocabulary; any thread may search.
class SpecialTokens {
 public:
  // With with_control, control and unknown tokens too; user-defined ones always. Texts longer than
  // kLongestBytes are left out: they bound the work per byte of text.
  SpecialTokens(const Vocabulary& vocabulary, bool with_control);

  struct Found {
    size_t begin, size;
    TokenId id;
  };
  // The first one that begins at or after `from`; the longest of those that begin there.
  std::optional<Found> find(std::string_view text, size_t from) const;

  // Whether text ends with the front part, but not the whole, of a control or unknown token: what is written
  // behind it might complete one. Fronts of blank space alone do not count.
  bool ends_within(std::string_view text) const;

  bool empty() const { return entries_.empty(); }

  static constexpr size_t kLongestBytes = 512;

 private:
  struct Entry {
    std::string_view text;  // in the vocabulary
    TokenId id;
    bool is_control;  // or unknown
  };
  std::optional<Found> longest_at(std::string_view text, size_t begin) const;

  std::vector<Entry> entries_;                    // sorted by text
  std::array<uint32_t, 257> first_byte_begin_{};  // entries that start with byte b: [begin[b], begin[b + 1])
};

}  // namespace oxbow::text
