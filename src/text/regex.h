#pragma once
// Regular expressions over UTF-8: the one place that calls PCRE2 (Unicode classes on, `$` only at the very
// end).

#include <cstddef>
#include <memory>
#include <string_view>

#include "base/status.h"

namespace oxbow::text {

// Working memory of searches. One per thread at a time; may be used with any number of patterns.
class RegexScratch {
 public:
  RegexScratch();
  RegexScratch(RegexScratch&&) noexcept;
  RegexScratch& operator=(RegexScratch&&) noexcept;
  ~RegexScratch();

 private:
  friend class Regex;
  struct Data;
  std::unique_ptr<Data> data_;
};

// A compiled pattern: machine code where PCRE2's compiler works, interpreted otherwise. Immutable; any thread
// may search.
class Regex {
 public:
  // kInvalidInput: names the pattern, the offset and PCRE2's reason.
  static Result<Regex> compile(std::string_view pattern);

  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;
  ~Regex();

  enum class Outcome {
    kMatch,
    kNoMatch,
    kGaveUp,  // needed more steps than a linear search of this subject ever should, or memory ran out
  };

  // The first match that begins at or after start; begin and end are offsets into subject. The subject must
  // be valid UTF-8 (PCRE2 does not check again: a check per search makes a split quadratic) and start a
  // character's first byte. Nothing outside subject is seen: its end is the end of text for lookaheads.
  Outcome search(std::string_view subject, size_t start, RegexScratch& scratch, size_t& begin,
                 size_t& end) const;

 private:
  struct Data;
  explicit Regex(std::unique_ptr<Data> data);
  std::unique_ptr<Data> data_;
};

}  // namespace oxbow::text
