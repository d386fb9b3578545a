#pragma once
// The templates, conversations and snippets of tests/text/templates, rendered here and by other programs.

#include <sys/wait.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "support/shared.h"
#include "text/chat_template.h"

namespace oxbow::text::testing {

using nlohmann::ordered_json;

inline std::string templates_folder() {
  return oxbow::testing::source_path("tests/text/templates");
}

inline std::string read_whole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Runs a command and returns its exit code; out gets its standard output.
inline int run_command(const std::string& command, std::string& out) {
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return -1;
  char buffer[1 << 16];
  for (size_t count; (count = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) out.append(buffer, count);
  const int status = ::pclose(pipe);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// The clock of jinja_oracle.py and jinja_peer.mjs.
inline std::tm oracle_time() {
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

// Renders what an oracle names as template and conversation: a file and the name of a conversation, or the
// source of a snippet and nothing.
class Renderings {
 public:
  Renderings() : snippets_(ordered_json::parse(read_whole(templates_folder() + "/snippets.json"))) {
    for (const ordered_json& one :
         ordered_json::parse(read_whole(templates_folder() + "/conversations.json")))
      conversations_[one["name"]] = one;
  }

  Result<std::string> render(const std::string& name, const std::string& conversation) const {
    ChatTemplateInput input;
    input.now = oracle_time();
    if (conversation.empty()) {
      input.arguments = &snippets_["variables"];
      return render_source(name, input);
    }
    const ordered_json& given = conversations_.at(conversation);
    const auto member = [&](const char* key) { return given.contains(key) ? &given[key] : nullptr; };
    input.messages = member("messages");
    input.tools = member("tools");
    input.documents = member("documents");
    input.arguments = member("arguments");
    input.add_generation_prompt = given.value("add_generation_prompt", true);
    input.bos_token = "<s>";
    input.eos_token = "</s>";
    return render_source(read_whole(templates_folder() + "/" + name), input);
  }

 private:
  static Result<std::string> render_source(const std::string& source, const ChatTemplateInput& input) {
    OXBOW_ASSIGN(const ChatTemplate parsed, ChatTemplate::parse(source));
    return parsed.render(input);
  }

  ordered_json snippets_;
  std::map<std::string, ordered_json> conversations_;
};

}  // namespace oxbow::text::testing
