#include "cli/model_path.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "cli/binary.h"
#include "cli/line_editor.h"

namespace oxbow::cli {
namespace {

using Strings = std::vector<std::string>;

TEST(ModelPath, TheBundledModelIsSoughtBesideTheProgramAndInTheBuildTree) {
  EXPECT_EQ(bundled_candidates("/usr/bin"),
            (Strings{"/usr/share/oxbow/oxbow-mini.gguf", "/usr/models/oxbow-mini.gguf",
                     "/models/oxbow-mini.gguf"}));
  const Strings tree = bundled_candidates("/src/oxbow/build/release/src/cli");
  EXPECT_EQ(tree.back(), "/src/oxbow/models/oxbow-mini.gguf");
  EXPECT_EQ(tree.size(), 5u);
}

TEST(ModelPath, TheFirstCandidateThatExistsIsTaken) {
  const testing::TemporaryFolder folder;
  testing::write_file(folder.path("b.gguf"), "x");
  testing::write_file(folder.path("c.gguf"), "x");
  const Strings candidates = {folder.path("a.gguf"), folder.path("b.gguf"), folder.path("c.gguf")};
  EXPECT_EQ(find_model("", nullptr, candidates), folder.path("b.gguf"));
  EXPECT_EQ(find_model("", "", candidates), folder.path("b.gguf"));
  EXPECT_EQ(find_model("", folder.path("c.gguf").c_str(), candidates), folder.path("c.gguf"));
  EXPECT_EQ(find_model(folder.path("b.gguf"), folder.path("c.gguf").c_str(), {}), folder.path("b.gguf"));
}

TEST(ModelPath, WithoutAModelTheErrorSaysWhereWasLookedAndWhatToDo) {
  const auto found = find_model("", nullptr, {"/nowhere/one.gguf", "/nowhere/two.gguf"});
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().kind, ErrorKind::kNotFound);
  for (const char* part : {"-m FILE", "OXBOW_MODEL", "/nowhere/one.gguf", "/nowhere/two.gguf"}) {
    EXPECT_NE(found.error().message.find(part), std::string::npos) << part;
  }
}

TEST(ModelPath, AMissingFileOrAFolderNamesTheModelsNearby) {
  const testing::TemporaryFolder folder;
  testing::write_file(folder.path("right.gguf"), "x");
  testing::write_file(folder.path("notes.txt"), "x");
  for (const std::string& given : {folder.path("wrong.gguf"), folder.path()}) {
    const auto found = find_model(given, nullptr, {});
    ASSERT_FALSE(found);
    EXPECT_NE(found.error().message.find(folder.path("right.gguf")), std::string::npos)
        << found.error().message;
    EXPECT_EQ(found.error().message.find("notes.txt"), std::string::npos);
  }
  std::filesystem::remove(folder.path("right.gguf"));
  const auto found = find_model(folder.path("wrong.gguf"), nullptr, {});
  EXPECT_EQ(found.error().message, fmt::format("the model {} does not exist; there is no .gguf file in {}",
                                               folder.path("wrong.gguf"), folder.path()));
}

TEST(ModelPath, TheListOfModelsNearbyIsShort) {
  const testing::TemporaryFolder folder;
  for (int i = 0; i < 30; ++i) testing::write_file(folder.path(fmt::format("m{}.gguf", i)), "x");
  const auto found = find_model(folder.path("x.gguf"), nullptr, {});
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().message.find("and 22 more"), std::string::npos) << found.error().message;
}

TEST(HistoryPath, IsInTheStateFolderOfTheUser) {
  EXPECT_EQ(history_path("/state", "/home/me"), "/state/oxbow/history");
  EXPECT_EQ(history_path("", "/home/me"), "/home/me/.local/state/oxbow/history");
  EXPECT_EQ(history_path("relative", "/home/me"), "/home/me/.local/state/oxbow/history");
  EXPECT_EQ(history_path(nullptr, nullptr), "");
}

}  // namespace
}  // namespace oxbow::cli
