// The same templates and conversations through Python's Jinja2 and through the engine.

#include <gtest/gtest.h>

#include <cstdlib>

#include "renderings.h"

namespace oxbow::text::testing {
namespace {

constexpr int kJinjaIsMissing = 77;

// Both write the same text, or both refuse.
void expect_agreement(const ordered_json& wanted, const Result<std::string>& found, const std::string& what) {
  if (!wanted.contains("text")) {
    EXPECT_FALSE(found) << what << "\nPython: " << wanted["error"] << "\nhere:   " << *found;
  } else if (!found) {
    ADD_FAILURE() << what << "\nPython: " << wanted["text"] << "\nhere:   " << found.error().message;
  } else {
    EXPECT_EQ(*found, wanted["text"].get<std::string>()) << what;
  }
}

TEST(JinjaDifferential, EveryTemplateAndSnippetGivesWhatPythonGives) {
  std::string out;
  const int code =
      run_command("/usr/bin/python3 '" + oxbow::testing::source_path("tests/text/jinja_oracle.py") + "' '" +
                      templates_folder() + "'",
                  out);
  if (code == kJinjaIsMissing || code == 127) {
    if (std::getenv("OXBOW_REQUIRE_JINJA") != nullptr) FAIL() << "python3-jinja2 is missing";
    GTEST_SKIP() << "python3-jinja2 is not on this machine";
  }
  ASSERT_EQ(code, 0);
  const ordered_json wanted = ordered_json::parse(out, nullptr, false);
  ASSERT_TRUE(wanted.is_array());
  const Renderings renderings;
  size_t texts = 0;
  for (const ordered_json& one : wanted) {
    const std::string name = one["template"], conversation = one["conversation"];
    texts += one.contains("text") ? 1 : 0;
    expect_agreement(one, renderings.render(name, conversation), name + " / " + conversation);
  }
  EXPECT_GE(wanted.size(), 600u);
  EXPECT_GE(texts, 480u);
}

}  // namespace
}  // namespace oxbow::text::testing
