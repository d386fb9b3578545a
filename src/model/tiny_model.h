#pragma once
// A small random model as its settings alone. Each architecture file describes some of its own, one for every
// path that its code can take, and the tests that hold for all families run over them. Shapes are not part of
// it: they are what the architecture asks the weight loader for.

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gguf/tensor_type.h"

namespace oxbow::model {

struct TinyModel {
  // A metadata key without the architecture's prefix, and its value.
  struct Setting {
    using Value =
        std::variant<uint32_t, float, bool, std::string_view, std::vector<int32_t>, std::vector<bool>>;
    Setting(std::string_view key_in, int v) : key(key_in), value(static_cast<uint32_t>(v)) {}
    Setting(std::string_view key_in, double v) : key(key_in), value(static_cast<float>(v)) {}
    Setting(std::string_view key_in, bool v) : key(key_in), value(v) {}
    Setting(std::string_view key_in, const char* v) : key(key_in), value(std::string_view(v)) {}
    Setting(std::string_view key_in, std::initializer_list<int> v)
        : key(key_in), value(std::vector<int32_t>(v)) {}
    Setting(std::string_view key_in, std::initializer_list<bool> v)
        : key(key_in), value(std::vector<bool>(v)) {}

    std::string_view key;
    Value value;
  };
  struct Type {
    std::string_view tensor;
    gguf::TensorType type;
  };
  // Values are drawn from it in place of what the name and shape suggest (tests/engine/tiny_file.h).
  struct Range {
    std::string_view tensor;
    float low, high;
  };

  // A tensor is named whole ("blk.1.ffn_gate_inp.weight", "output.weight") or, for every layer, without its
  // "blk.N.".
  std::string_view name;  // "experts"
  std::vector<Setting> settings;
  std::vector<std::string_view> optional = {};  // tensors that the file has, and might not have
  std::vector<Type> types = {};                 // matrices; the others have the type that the test asks for
  std::vector<Range> ranges = {};
};

}  // namespace oxbow::model
