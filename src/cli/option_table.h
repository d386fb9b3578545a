#pragma once
// The option parser (CLI11) behind the few kinds of options that the commands have.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "cli/arguments.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace oxbow::cli {

// The options of one command. Names are CLI11's: "-n,--n-predict,--predict". The last of several values
// counts. Targets outlive the table. An option with a variable is also read from the environment: OXBOW_ and
// the first long name.
class OptionTable {
 public:
  // usage: "oxbow run [FILE] [PROMPT]"
  OptionTable(std::string usage, std::string description);
  ~OptionTable();

  enum Variable { kNoVariable, kVariable };

  void flag(const char* names, const char* help, std::function<void(int count)> set,
            Variable variable = kNoVariable);
  void text(const char* names, const char* value, const char* help,
            std::function<void(const std::string&)> set, Variable variable = kNoVariable);
  // check: the error for a wrong value, empty for a good one.
  void checked(const char* names, const char* value, const char* help,
               std::function<std::string(const std::string&)> check,
               std::function<void(const std::string&)> set, bool is_number = false);
  // With a variable, and errors that name the range and the default.
  void integer(const char* names, const char* help, int64_t low, int64_t high, const char* fallback,
               std::function<void(int64_t)> set);
  void real(const char* names, const char* help, double low, double high, const char* fallback,
            std::function<void(double)> set);
  void choice(const char* names, const char* help, std::vector<std::string> values, const char* fallback,
              std::function<void(size_t index)> set);

  void group(std::string name) { group_ = std::move(name); }
  void footer(std::string text);

  // Sets the targets and returns the words that are no flags; kInvalidInput says what is wrong. Nothing when
  // help was asked for.
  Result<std::optional<std::vector<std::string>>> parse(std::span<const std::string> arguments);
  std::string help() const;

 private:
  CLI::Option* adorn(CLI::Option* option, const char* names, const char* value, Variable variable,
                     bool is_number);

  std::unique_ptr<CLI::App> app_;
  std::vector<Flag> flags_;
  std::string group_ = "Options";
};

}  // namespace oxbow::cli
