// The same templates and conversations through Python's Jinja2 and through the engine.

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "support/shared.h"
#include "text/chat_template.h"

namespace oxbow::text::testing {
namespace {

using nlohmann::ordered_json;
using oxbow::testing::source_path;

constexpr int kJinjaIsMissing = 77;

std::string read_whole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Runs a command and returns its exit code; out gets its standard output.
int run(const std::string& command, std::string& out) {
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return -1;
  char buffer[1 << 16];
  for (size_t count; (count = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) out.append(buffer, count);
  const int status = ::pclose(pipe);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// The clock of jinja_oracle.py.
std::tm oracle_time() {
  std::tm now{};
  now.tm_year = 126;
  now.tm_mon = 2;
  now.tm_mday = 5;
  now.tm_hour = 9;
  now.tm_min = 7;
  now.tm_sec = 8;
  now.tm_wday = 4;
  now.tm_yday = 63;
  return now;
}

class JinjaDifferential : public ::testing::Test {
 protected:
  const std::string folder_ = source_path("tests/text/templates");

  Result<std::string> render(const std::string& source, const ChatTemplateInput& input) {
    OXBOW_ASSIGN(const ChatTemplate parsed, ChatTemplate::parse(source));
    return parsed.render(input);
  }

  Result<std::string> render_conversation(const std::string& source, const ordered_json& conversation) {
    const auto member = [&](const char* name) {
      return conversation.contains(name) ? &conversation[name] : nullptr;
    };
    ChatTemplateInput input;
    input.messages = member("messages");
    input.tools = member("tools");
    input.documents = member("documents");
    input.arguments = member("arguments");
    input.add_generation_prompt = conversation.value("add_generation_prompt", true);
    input.bos_token = "<s>";
    input.eos_token = "</s>";
    input.now = oracle_time();
    return render(source, input);
  }
};

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

TEST_F(JinjaDifferential, EveryTemplateAndSnippetGivesWhatPythonGives) {
  std::string out;
  const int code =
      run("/usr/bin/python3 '" + source_path("tests/text/jinja_oracle.py") + "' '" + folder_ + "'", out);
  if (code == kJinjaIsMissing || code == 127) {
    if (std::getenv("OXBOW_REQUIRE_JINJA") != nullptr) FAIL() << "python3-jinja2 is missing";
    GTEST_SKIP() << "python3-jinja2 is not on this machine";
  }
  ASSERT_EQ(code, 0);
  const ordered_json wanted = ordered_json::parse(out, nullptr, false);
  ASSERT_TRUE(wanted.is_array());
  const ordered_json snippets = ordered_json::parse(read_whole(folder_ + "/snippets.json"));
  std::map<std::string, ordered_json> conversations;
  for (const ordered_json& one : ordered_json::parse(read_whole(folder_ + "/conversations.json")))
    conversations[one["name"]] = one;
  size_t texts = 0;
  for (const ordered_json& one : wanted) {
    const std::string name = one["template"], conversation = one["conversation"];
    texts += one.contains("text") ? 1 : 0;
    if (conversation.empty()) {
      ChatTemplateInput input;
      input.arguments = &snippets["variables"];
      input.now = oracle_time();
      expect_agreement(one, render(name, input), name);
    } else {
      const std::string source = read_whole(folder_ + "/" + name);
      expect_agreement(one, render_conversation(source, conversations.at(conversation)),
                       name + " / " + conversation);
    }
  }
  EXPECT_GE(wanted.size(), 600u);
  EXPECT_GE(texts, 480u);
}

}  // namespace
}  // namespace oxbow::text::testing
