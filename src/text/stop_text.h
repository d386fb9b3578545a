#pragma once
// Finds the texts that end an answer while the answer arrives.

#include <string>
#include <string_view>
#include <vector>

namespace oxbow::text {

// Holds back what may be the beginning of a stop text. Without stop texts everything passes. Of several that
// occur, the one that begins first counts. Neither what passes nor what is found depends on the cuts.
class StopText {
 public:
  // Empty texts are left out.
  explicit StopText(std::vector<std::string> stops);
  explicit StopText(std::string_view stop) : StopText(std::vector<std::string>{std::string(stop)}) {}

  // The part that can be shown now. After a stop text was found: nothing.
  std::string push(std::string_view text);
  // What was held back when the answer ended otherwise.
  std::string flush();
  bool found() const { return found_; }
  // The text that was found; empty before.
  const std::string& which() const { return which_; }

 private:
  bool may_begin(std::string_view text) const;

  std::vector<std::string> stops_;
  std::string held_;  // shorter than the longest stop text between calls
  std::string which_;
  bool found_ = false;
};

}  // namespace oxbow::text
