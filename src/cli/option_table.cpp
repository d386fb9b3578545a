#include "cli/option_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>

#include "cli/values.h"

namespace oxbow::cli {
namespace {

std::vector<std::string> split(std::string_view names) {
  std::vector<std::string> parts;
  while (!names.empty()) {
    const size_t comma = std::min(names.find(','), names.size());
    parts.emplace_back(names.substr(0, comma));
    names.remove_prefix(std::min(comma + 1, names.size()));
  }
  return parts;
}

std::string variable_name(const std::vector<std::string>& names) {
  const auto first_long =
      std::ranges::find_if(names, [](const std::string& name) { return name.starts_with("--"); });
  std::string variable = "OXBOW_";
  for (const char c : first_long->substr(2)) {
    variable += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return variable;
}

std::string shown_value(const std::string& value) {
  return value.size() <= 40 ? value : value.substr(0, 40) + "...";
}

}  // namespace

OptionTable::OptionTable(std::string usage, std::string description)
    : app_(std::make_unique<CLI::App>(std::move(description), std::move(usage))) {
  app_->set_help_flag("-h,--help", "Show this text");
  app_->get_formatter()->column_width(38);
  flags_.push_back({{"-h", "--help"}, false, false});
}

OptionTable::~OptionTable() = default;

CLI::Option* OptionTable::adorn(CLI::Option* option, const char* names, const char* value, Variable variable,
                                bool is_number) {
  std::vector<std::string> list = split(names);
  option->group(group_);
  if (*value != '\0') option->take_last()->option_text(value);
  if (variable == kVariable) option->envname(variable_name(list));
  flags_.push_back({std::move(list), *value != '\0', is_number});
  return option;
}

void OptionTable::flag(const char* names, const char* help, std::function<void(int)> set, Variable variable) {
  adorn(app_->add_flag_function(
            names, [set = std::move(set)](int64_t count) { set(static_cast<int>(count)); }, help),
        names, "", variable, false);
}

void OptionTable::text(const char* names, const char* value, const char* help,
                       std::function<void(const std::string&)> set, Variable variable) {
  adorn(app_->add_option_function<std::string>(names, set, help), names, value, variable, false);
}

void OptionTable::checked(const char* names, const char* value, const char* help,
                          std::function<std::string(const std::string&)> check,
                          std::function<void(const std::string&)> set, bool is_number) {
  // The check is part of the setter: a validator of CLI11 may rewrite what the message says.
  const std::string name = split(names).back();
  adorn(app_->add_option_function<std::string>(
            names,
            [check = std::move(check), set = std::move(set), name](const std::string& text) {
              const std::string problem = check(text);
              if (!problem.empty()) throw CLI::ValidationError(name, problem);
              set(text);
            },
            help),
        names, value, kVariable, is_number);
}

void OptionTable::integer(const char* names, const char* help, int64_t low, int64_t high,
                          const char* fallback, std::function<void(int64_t)> set) {
  const auto parse = [low, high](const std::string& text) -> std::optional<int64_t> {
    const auto value = parse_integer(text);
    return value && *value >= low && *value <= high ? value : std::nullopt;
  };
  checked(
      names, "N", help,
      [=](const std::string& text) {
        return parse(text)
                   ? std::string()
                   : fmt::format("expected a whole number from {} to {} (default: {}), \"{}\" was given", low,
                                 high, fallback, shown_value(text));
      },
      [parse, set = std::move(set)](const std::string& text) { set(*parse(text)); }, true);
}

void OptionTable::real(const char* names, const char* help, double low, double high, const char* fallback,
                       std::function<void(double)> set) {
  const auto parse = [low, high](const std::string& text) -> std::optional<double> {
    const auto value = parse_real(text);
    return value && *value >= low && *value <= high ? value : std::nullopt;
  };
  checked(
      names, "X", help,
      [=](const std::string& text) {
        return parse(text) ? std::string()
                           : fmt::format("expected a number from {} to {} (default: {}), \"{}\" was given",
                                         low, high, fallback, shown_value(text));
      },
      [parse, set = std::move(set)](const std::string& text) { set(*parse(text)); }, true);
}

void OptionTable::choice(const char* names, const char* help, std::vector<std::string> values,
                         const char* fallback, std::function<void(size_t)> set) {
  const std::string shown = fmt::format("{}", fmt::join(values, "|"));
  const auto find = [values](const std::string& text) {
    return static_cast<size_t>(std::ranges::find(values, text) - values.begin());
  };
  checked(
      names, shown.c_str(), help,
      [=](const std::string& text) {
        return find(text) < values.size()
                   ? std::string()
                   : fmt::format("expected {} (default: {}), \"{}\" was given", fmt::join(values, " or "),
                                 fallback, shown_value(text));
      },
      [find, set = std::move(set)](const std::string& text) { set(find(text)); });
}

void OptionTable::footer(std::string text) {
  app_->footer(std::move(text));
}

std::string OptionTable::help() const {
  return app_->help();
}

Result<std::optional<std::vector<std::string>>> OptionTable::parse(std::span<const std::string> arguments) {
  OXBOW_ASSIGN(Arguments normal, normalize_arguments(arguments, flags_));
  std::ranges::reverse(normal.flags);  // CLI11 takes them from the back
  try {
    app_->parse(std::move(normal.flags));
  } catch (const CLI::CallForHelp&) {
    return std::optional<std::vector<std::string>>();
  } catch (const CLI::ParseError& error) {
    return fail(ErrorKind::kInvalidInput, "{}", error.what());
  }
  return std::optional(std::move(normal.words));
}

}  // namespace oxbow::cli
