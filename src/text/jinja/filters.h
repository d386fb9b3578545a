#pragma once
// The filters, by name.

#include "text/jinja/arguments.h"

namespace oxbow::text::jinja {

using Filter = Result<Value> (*)(Heap& heap, const Value& input, const Arguments& arguments);

// Null when there is none of that name.
Filter find_filter(std::string_view name);

struct NamedFilter {
  std::string_view name;
  Filter run;
};
std::span<const NamedFilter> text_filters();
std::span<const NamedFilter> number_filters();
std::span<const NamedFilter> sequence_filters();

}  // namespace oxbow::text::jinja
