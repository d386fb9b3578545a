#pragma once
// Tokens to text while they arrive: whole characters only.

#include <cstdint>
#include <string>
#include <string_view>

#include "text/tokenizer.h"

namespace oxbow::text {

// Turns any bytes, in any cuts, into UTF-8: holds back the bytes of a character that is not complete yet, at
// most three, and replaces what can never become one by U+FFFD, one for each longest front part of a
// character (Unicode 15, section 3.9, "substitution of maximal subparts"). The output does not depend on the
// cuts. One thread at a time.
class Utf8Stream {
 public:
  // Appends the characters that are complete now.
  void push(std::string_view bytes, std::string& out);
  // The end: a held front part becomes U+FFFD. The stream may be used again.
  void flush(std::string& out);
  size_t held_bytes() const { return held_; }

 private:
  bool start(uint8_t lead);

  char bytes_[4] = {};
  size_t held_ = 0;
  size_t wanted_ = 0;                 // bytes of the character that has begun
  uint8_t low_ = 0x80, high_ = 0xBF;  // what its next byte may be
};

// One answer's tokens to text. Keeps a reference to the tokenizer.
class StreamDecoder {
 public:
  explicit StreamDecoder(const Tokenizer& tokenizer, bool show_special = false)
      : tokenizer_(&tokenizer), show_special_(show_special) {}

  // The characters that this token completes; often none or several.
  std::string push(TokenId id);
  // What is left at the end of the answer: nothing or U+FFFD.
  std::string flush();
  size_t held_bytes() const { return stream_.held_bytes(); }

 private:
  const Tokenizer* tokenizer_;
  bool show_special_;
  Utf8Stream stream_;
};

}  // namespace oxbow::text
