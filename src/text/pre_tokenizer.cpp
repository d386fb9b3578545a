#include "text/pre_tokenizer.h"

#include <string>

#include "text/unicode.h"

namespace oxbow::text {

Result<PreTokenizer> PreTokenizer::create(const PreTokenizerInfo& info) {
  PreTokenizer created;
  for (const std::string_view pattern : info.patterns) {
    OXBOW_ASSIGN(Regex regex, Regex::compile(pattern));
    created.patterns_.push_back(std::move(regex));
  }
  return created;
}

bool PreTokenizer::split(std::string_view text, RegexScratch& scratch, std::vector<size_t>& ends) const {
  const size_t valid = valid_utf8_prefix(text);
  if (valid == text.size()) return split_utf8(text, scratch, ends);

  // A copy in which every stray byte is a U+FFFD; grown[i] is where the i-th of them ends in the copy.
  std::string copy(text.substr(0, valid));
  std::vector<size_t> grown;
  for (size_t at = valid; at < text.size();) {
    const size_t run = valid_utf8_prefix(text.substr(at));
    copy.append(text.substr(at, run));
    at += run;
    if (at == text.size()) break;
    copy.append(kReplacementUtf8);
    grown.push_back(copy.size());
    ++at;
  }
  const bool complete = split_utf8(copy, scratch, ends);
  size_t replaced = 0;
  for (size_t& end : ends) {
    while (replaced < grown.size() && grown[replaced] <= end) ++replaced;
    end -= replaced * (kReplacementUtf8.size() - 1);
  }
  return complete;
}

bool PreTokenizer::split_utf8(std::string_view text, RegexScratch& scratch, std::vector<size_t>& ends) const {
  ends.clear();
  if (text.empty()) return true;
  ends.push_back(text.size());
  bool complete = true;
  std::vector<size_t> cut;
  for (const Regex& pattern : patterns_) {
    cut.clear();
    size_t piece_begin = 0;
    for (const size_t piece_end : ends) {
      const std::string_view piece = text.substr(piece_begin, piece_end - piece_begin);
      size_t at = 0, begin = 0, end = 0;
      while (at < piece.size()) {
        const Regex::Outcome outcome = pattern.search(piece, at, scratch, begin, end);
        complete = complete && outcome != Regex::Outcome::kGaveUp;
        if (outcome != Regex::Outcome::kMatch || end <= begin) break;
        if (begin > at) cut.push_back(piece_begin + begin);
        cut.push_back(piece_begin + end);
        at = end;
      }
      if (at < piece.size()) cut.push_back(piece_end);
      piece_begin = piece_end;
    }
    ends.swap(cut);
  }
  return complete;
}

}  // namespace oxbow::text
