#pragma once
// Metadata values: type number and body.

#include <cstdint>
#include <string>

#include "base/status.h"
#include "gguf/cursor.h"
#include "gguf/file.h"

namespace oxbow::gguf {

// Bytes of one number or bool; 0 for strings, arrays and unknown types.
size_t value_size_bytes(ValueType type);

// "uint32", "array of string".
std::string describe_type(const Value& value);

class ValueReader {
 public:
  explicit ValueReader(Cursor& cursor) : cursor_(cursor) {}

  // Reads a type number and a value of it. Strings and numbers of arrays stay in the file.
  Status read(Value& value);

 private:
  Result<ValueType> read_type(std::string_view what);
  Status read_scalar(Value& value);
  template <typename Stored, typename Held>
  Status read_number(Value& value);
  Status read_array(Array& array, int depth);
  Status read_numbers(Array& array);
  Status read_strings(Array& array);
  Status read_arrays(Array& array, int depth);

  Cursor& cursor_;
  uint64_t nested_arrays_ = 0;
};

}  // namespace oxbow::gguf
