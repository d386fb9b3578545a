#include "text/stop_text.h"

#include <gtest/gtest.h>

namespace oxbow::text {
namespace {

TEST(StopText, ShowsAllButTheStopTextWhateverTheCuts) {
  const std::string text = "a<|im_<|im_end|>b";
  for (size_t cut = 1; cut <= text.size(); ++cut) {
    StopText stop("<|im_end|>");
    std::string shown;
    for (size_t i = 0; i < text.size(); i += cut) shown += stop.push(text.substr(i, cut));
    EXPECT_TRUE(stop.found());
    EXPECT_EQ(shown, "a<|im_");
  }
}

TEST(StopText, GivesBackWhatWasHeldWhenItDoesNotCome) {
  StopText stop("<|im_end|>");
  EXPECT_EQ(stop.push("x<|im"), "x");
  EXPECT_EQ(stop.flush(), "<|im");
  EXPECT_FALSE(stop.found());
  StopText none("");
  EXPECT_EQ(none.push("<|im_end|>"), "<|im_end|>");
}

TEST(StopText, TheFirstOfSeveralCountsWhateverTheCuts) {
  const std::string text = "one END\nUser: two";
  for (size_t cut = 1; cut <= text.size(); ++cut) {
    StopText stop(std::vector<std::string>{"User:", "", "END\nUser: three", "\nUser", "\nUs"});
    std::string shown;
    for (size_t i = 0; i < text.size(); i += cut) shown += stop.push(text.substr(i, cut));
    EXPECT_EQ(shown, "one END");
    EXPECT_EQ(stop.which(), "\nUs");
  }
}

TEST(StopText, ALongerOneThatDoesNotComeHidesNoShorterOneInsideOfIt) {
  StopText stop(std::vector<std::string>{"abcd", "bc"});
  EXPECT_EQ(stop.push("abc"), "");
  EXPECT_FALSE(stop.found());
  EXPECT_EQ(stop.push("x"), "a");
  EXPECT_EQ(stop.which(), "bc");
}

}  // namespace
}  // namespace oxbow::text
