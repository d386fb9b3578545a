#include "cli/console.h"

#include <gtest/gtest.h>

#include "cli/escape.h"
#include "cli/layer_map.h"

namespace oxbow::cli {
namespace {

TEST(Color, TheChoiceCountsBeforeTheEnvironmentAndTheTerminal) {
  EXPECT_TRUE(wants_color(ColorChoice::kOn, false, {"1", nullptr, "dumb"}));
  EXPECT_FALSE(wants_color(ColorChoice::kOff, true, {nullptr, "1", nullptr}));
}

TEST(Color, ByItselfATerminalHasColorsUnlessTheEnvironmentSaysNo) {
  EXPECT_TRUE(wants_color(ColorChoice::kAuto, true, {}));
  EXPECT_FALSE(wants_color(ColorChoice::kAuto, false, {}));
  EXPECT_FALSE(wants_color(ColorChoice::kAuto, true, {"1", nullptr, nullptr}));
  EXPECT_TRUE(wants_color(ColorChoice::kAuto, true, {"", nullptr, nullptr}));  // set but empty: not set
  EXPECT_FALSE(wants_color(ColorChoice::kAuto, true, {nullptr, nullptr, "dumb"}));
  EXPECT_TRUE(wants_color(ColorChoice::kAuto, false, {nullptr, "1", "dumb"}));
  EXPECT_FALSE(wants_color(ColorChoice::kAuto, false, {nullptr, "0", nullptr}));
  EXPECT_FALSE(wants_color(ColorChoice::kAuto, true, {"1", "1", nullptr}));
}

TEST(WithoutControls, KeepsTextAndDropsWhatATerminalWouldObey) {
  EXPECT_EQ(without_controls("a\tb\nc"), "a\tb\nc");
  EXPECT_EQ(without_controls("\x1b[2Jhi\x07\r\x7f"), "[2Jhi");
  EXPECT_EQ(without_controls("x\xC2\x9By"), "xy");  // C1: the one-character form of ESC [
  EXPECT_EQ(without_controls("na\xC3\xAFve \xE4\xBD\xA0"), "na\xC3\xAFve \xE4\xBD\xA0");
  EXPECT_EQ(without_controls("\xFFz"), "\xEF\xBF\xBDz");
}

TEST(Quoted, IsOneLineWhateverTheBytes) {
  EXPECT_EQ(quoted("it's\n\t\\"), R"('it\'s\n\t\\')");
  EXPECT_EQ(quoted(std::string_view("\0\x1b\xFF", 3)), R"('\x00\x1b\xff')");
  EXPECT_EQ(quoted("\xC3\xA9"), "'\xC3\xA9'");
}

TEST(LayerMap, OneLetterALayerWhenAllHaveTheSameFeedForward) {
  const LayerMap map = make_layer_map({"MF", "MF", "AF", "MF"});
  EXPECT_EQ(map.rows, std::vector<std::string>{"MMAM"});
  EXPECT_EQ(map.summary, "4: 3 Mamba (M), 1 attention (A), each with a dense feed-forward (F)");
}

TEST(LayerMap, WordsWhenLayersHaveSeveralLetters) {
  const LayerMap map = make_layer_map({"AMF", "F", "M"});
  EXPECT_EQ(map.rows, std::vector<std::string>{"AMF F M"});
  EXPECT_EQ(map.summary,
            "3: 1 attention and Mamba and dense feed-forward (AMF), 1 dense feed-forward (F), 1 Mamba (M)");
}

TEST(LayerMap, LongModelsAreCutIntoRowsOfTens) {
  const LayerMap map = make_layer_map(std::vector<std::string>(56, "M"));
  ASSERT_EQ(map.rows.size(), 2u);
  EXPECT_EQ(map.rows[0], "MMMMMMMMMM MMMMMMMMMM MMMMMMMMMM MMMMMMMMMM MMMMMMMMMM");
  EXPECT_EQ(map.rows[1], "MMMMMM");
}

}  // namespace
}  // namespace oxbow::cli
