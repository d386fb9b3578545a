#pragma once
// Finds the text that ends an answer while the answer arrives.

#include <string>
#include <string_view>

namespace oxbow::cli {

// Holds back what may be the beginning of the stop text. With an empty stop text everything passes.
class StopText {
 public:
  explicit StopText(std::string_view stop) : stop_(stop) {}

  // The part that can be shown now. After the stop text was found: nothing.
  std::string push(std::string_view text);
  // What was held back when the answer ended otherwise.
  std::string flush();
  bool found() const { return found_; }

 private:
  std::string stop_;
  std::string held_;
  bool found_ = false;
};

}  // namespace oxbow::cli
