#include "text/stream_decoder.h"

#include "text/unicode.h"

namespace oxbow::text {

// The table of well-formed sequences (Unicode 15, table 3-7): the lead byte gives the length and what the
// second byte may be; later bytes are 80 to BF.
bool Utf8Stream::start(uint8_t lead) {
  low_ = 0x80;
  high_ = 0xBF;
  if (lead >= 0xC2 && lead <= 0xDF) {
    wanted_ = 2;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    wanted_ = 3;
    if (lead == 0xE0) low_ = 0xA0;
    if (lead == 0xED) high_ = 0x9F;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    wanted_ = 4;
    if (lead == 0xF0) low_ = 0x90;
    if (lead == 0xF4) high_ = 0x8F;
  } else {
    return false;
  }
  bytes_[0] = static_cast<char>(lead);
  held_ = 1;
  return true;
}

void Utf8Stream::push(std::string_view bytes, std::string& out) {
  for (const char next : bytes) {
    const auto byte = static_cast<uint8_t>(next);
    if (held_ > 0) {
      if (byte >= low_ && byte <= high_) {
        bytes_[held_++] = next;
        low_ = 0x80;
        high_ = 0xBF;
        if (held_ == wanted_) {
          out.append(bytes_, held_);
          held_ = 0;
        }
        continue;
      }
      flush(out);
    }
    if (byte < 0x80) {
      out.push_back(next);
    } else if (!start(byte)) {
      out.append(kReplacementUtf8);
    }
  }
}

void Utf8Stream::flush(std::string& out) {
  if (held_ > 0) out.append(kReplacementUtf8);
  held_ = 0;
}

std::string StreamDecoder::push(TokenId id) {
  std::string text;
  stream_.push(tokenizer_->token_bytes(id, show_special_), text);
  return text;
}

std::string StreamDecoder::flush() {
  std::string text;
  stream_.flush(text);
  return text;
}

}  // namespace oxbow::text
