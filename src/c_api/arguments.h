#pragma once
// Arguments that come from C: structures that grow, lists, required pointers.

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>

#include "c_api/guard.h"

namespace oxbow::c_api {

// A structure with a larger size was not initialised: reading it would run off its end.
inline constexpr size_t kLargestStruct = 4096;

// kInvalidInput naming a null argument.
inline Status require(const void* pointer, const char* what) {
  if (pointer == nullptr) return fail(ErrorKind::kInvalidInput, "{} is null", what);
  return {};
}

// The elements of an argument; null is allowed for none.
template <typename T>
Result<std::span<const T>> list(const T* elements, size_t count, const char* what) {
  if (elements == nullptr && count > 0)
    return fail(ErrorKind::kInvalidInput, "{} is null, with {} elements", what, count);
  if (count > SIZE_MAX / 2 / sizeof(T))
    return fail(ErrorKind::kInvalidInput, "{} with {} elements is longer than memory", what, count);
  return std::span<const T>(elements, count);
}

template <typename T>
Status check_struct(const T* given, const char* what) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= kLargestStruct);
  OXBOW_TRY(require(given, what));
  if (given->struct_size < sizeof(size_t) || given->struct_size > kLargestStruct) {
    return fail(ErrorKind::kInvalidInput, "{} has a struct_size of {}; set it to sizeof, here {}", what,
                given->struct_size, sizeof(T));
  }
  return {};
}

// The caller's structure over `defaults`, whatever version of the header it was compiled with.
template <typename T>
Result<T> read_struct(const T* given, const char* what, T defaults = {}) {
  OXBOW_TRY(check_struct(given, what));
  const size_t size = given->struct_size;
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  for (size_t i = sizeof(T); i < size; ++i) {
    if (bytes[i] != 0) {
      return fail(ErrorKind::kUnsupported,
                  "{} sets a member at byte {} that this version of the library lacks", what, i);
    }
  }
  std::memcpy(static_cast<void*>(&defaults), given, std::min(size, sizeof(T)));
  return defaults;
}

// Writes what the caller's structure has room for; the caller has checked it with check_struct.
template <typename T>
void write_struct(T value, T* out) {
  const size_t size = out->struct_size;
  value.struct_size = size;
  auto* bytes = reinterpret_cast<unsigned char*>(out);
  std::memcpy(bytes, &value, std::min(size, sizeof(T)));
  if (size > sizeof(T)) std::memset(bytes + sizeof(T), 0, size - sizeof(T));
}

// Copies a list into the caller's buffer, or says how large that must be. count is not null.
template <typename T>
Outcome copy_list(std::span<const T> elements, T* buffer, size_t capacity, size_t* count) {
  if (buffer == nullptr) capacity = 0;
  *count = elements.size();
  if (elements.size() > capacity) {
    return {OXBOW_BUFFER_TOO_SMALL,
            fmt::format("the buffer has room for {} elements; {} are needed", capacity, elements.size())};
  }
  std::copy(elements.begin(), elements.end(), buffer);
  return {};
}

}  // namespace oxbow::c_api
