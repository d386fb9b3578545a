#pragma once
// What Python's operators and subscripts do with values.

#include "text/jinja/heap.h"
#include "text/jinja/syntax.h"

namespace oxbow::text::jinja {

Result<Value> apply(Heap& heap, BinaryOperator op, const Value& left, const Value& right);
Result<Value> negate(const Value& value, UnaryOperator op);
Result<bool> compare(Heap& heap, CompareOperator op, const Value& left, const Value& right);
Result<bool> contains(Heap& heap, const Value& container, const Value& item);
// < of Python; errors for values without an order.
Result<bool> less(Heap& heap, const Value& left, const Value& right);

// The items of anything that can be walked: a sequence, the characters of a string, the keys of a dict,
// nothing for undefined. Uses up an iterator.
Result<std::vector<Value>> iterate(Heap& heap, const Value& value);
bool is_iterable(const Value& value);
Result<int64_t> length(const Value& value);

// `value.name` and `value[index]`; undefined when there is nothing. Errors: value is undefined.
Result<Value> attribute(Heap& heap, const Value& value, std::string_view name);
Result<Value> subscript(Heap& heap, const Value& value, const Value& index);
// Bounds are none or integers.
Result<Value> slice(Heap& heap, const Value& value, const Value& start, const Value& stop, const Value& step);

// "'x' is undefined" and the like.
tl::unexpected<Error> undefined_error(const Value& undefined);

// `text % values`.
Result<Value> format_percent(Heap& heap, std::string_view format, const Value& values);

}  // namespace oxbow::text::jinja
