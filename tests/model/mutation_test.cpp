// Every setting and every tensor of every golden model, altered one at a time: the load is refused with the
// name of a key or tensor, or the model runs. Under the sanitizers this is the test that a hostile file
// cannot reach memory that is not its own.

#include <gtest/gtest.h>

#include <fmt/ranges.h>
#include <limits>

#include "rewritten.h"

namespace oxbow::model {
namespace {

using oxbow::testing::repository_goldens;
using oxbow::testing::Runner;

// Larger working buffers than any golden model has reason to ask for.
constexpr size_t kMostScratchBytes = size_t{64} << 20;

using Change = std::function<void(gguf::Writer&)>;

class Mutation : public ::testing::TestWithParam<std::string> {
 protected:
  // Loads it; runs it when that succeeds. The error of a refused load.
  static std::string outcome(Rewritten& file) {
    auto loaded = file.load();
    if (!loaded) return loaded.error().message;
    std::shared_ptr<const Model> model = std::move(*loaded);
    const size_t scratch = model->scratch_bytes(5, 5, 1);
    EXPECT_LT(scratch, kMostScratchBytes);
    if (scratch >= kMostScratchBytes) return "";
    const std::vector<memory::TokenId> tokens = {1, 2, 3, 4, 5};
    EXPECT_EQ(Runner(model, 1).run(tokens).size(), 5U);
    return "";
  }

  static void add_scalars(const std::string& key, const gguf::Value& value, std::vector<Change>& changes) {
    using gguf::ValueType;
    const auto add = [&](auto change) {
      changes.push_back([key, change](gguf::Writer& writer) { change(writer, key); });
    };
    if (value.type == ValueType::kFloat32) {
      for (const float f : {0.0f, -1.0f, 1e-38f, 1e30f, std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()}) {
        add([f](gguf::Writer& writer, const std::string& k) { writer.add_float32(k, f); });
      }
    } else if (value.type == ValueType::kBool) {
      const bool other = !std::get<bool>(value.data);
      add([other](gguf::Writer& writer, const std::string& k) { writer.add_bool(k, other); });
    } else {
      for (const uint32_t u : {0U, 1U, 3U, 1000U, 1U << 31, ~0U}) {
        add([u](gguf::Writer& writer, const std::string& k) { writer.add_uint32(k, u); });
      }
      add([](gguf::Writer& writer, const std::string& k) { writer.add_int32(k, -1); });
      add([](gguf::Writer& writer, const std::string& k) { writer.add_uint64(k, ~uint64_t{0}); });
    }
    add([](gguf::Writer& writer, const std::string& k) { writer.add_string(k, "many"); });
  }

  // One entry of an array replaced, too many entries, too few.
  static void add_arrays(const std::string& key, const gguf::Value& value, std::vector<Change>& changes) {
    const auto& array = std::get<gguf::Array>(value.data);
    if (array.element_type == gguf::ValueType::kBool) {
      for (const size_t count : {size_t{0}, array.count - 1, array.count, array.count + 1}) {
        for (const bool all : {false, true}) {
          changes.push_back([key, count, all](gguf::Writer& writer) {
            writer.add_bool_array(key, std::vector<bool>(count, all));
          });
        }
      }
      return;
    }
    std::vector<int32_t> values(array.count);
    for (size_t i = 0; i < values.size(); ++i) {
      std::memcpy(&values[i], array.numbers.data() + i * sizeof(int32_t), sizeof(int32_t));
    }
    const auto add = [&](std::vector<int32_t> changed) {
      changes.push_back(
          [key, changed](gguf::Writer& writer) { writer.add_array(key, std::span<const int32_t>(changed)); });
    };
    for (const int32_t entry : {0, 1, 3, 1 << 30, -1}) {
      for (size_t i = 0; i < values.size(); ++i) {
        std::vector<int32_t> changed = values;
        changed[i] = entry;
        add(changed);
      }
      add(std::vector<int32_t>(values.size(), entry));
    }
    std::vector<int32_t> other = values;
    other.push_back(other.back());
    add(other);
    other.resize(values.size() - 1);
    add(other);
    add({});
  }
};

// RWKV-7 files carry the first layer's share in a mix with its own values.
bool is_unused(std::string_view tensor) {
  return tensor.starts_with("blk.0.time_mix_v") && tensor[16] >= '0' && tensor[16] <= '2';
}

TEST_P(Mutation, OfAnySettingIsRefusedByNameOrRuns) {
  const Rewritten whole(GetParam());
  const std::string architecture(**whole.source().find_string("general.architecture"));
  size_t refused = 0;
  size_t ran = 0;
  for (const auto& [key, value] : whole.source().metadata()) {
    if (!key.starts_with(architecture + ".")) continue;
    std::vector<Change> changes = {[](gguf::Writer&) {}};  // the key is missing
    if (value.type == gguf::ValueType::kArray) {
      add_arrays(key, value, changes);
    } else {
      add_scalars(key, value, changes);
    }
    for (size_t i = 0; i < changes.size(); ++i) {
      SCOPED_TRACE(key + ", change " + std::to_string(i));
      Rewritten file(GetParam());
      const std::string error = outcome(file.replace(key, changes[i]));
      error.empty() ? ++ran : ++refused;
      const bool named = error.find(architecture + ".") != std::string::npos ||
                         error.find("the tensor ") != std::string::npos ||
                         error.find("layer ") != std::string::npos;
      EXPECT_TRUE(error.empty() || named) << error;
    }
  }
  EXPECT_GT(refused, ran);
}

TEST_P(Mutation, OfAnyShapeIsRefusedByName) {
  const Rewritten whole(GetParam());
  for (const gguf::Tensor& tensor : whole.source().tensors()) {
    const uint64_t block = gguf::tensor_type_info(tensor.type).block_elements;
    std::vector<std::vector<uint64_t>> shapes;
    for (size_t i = 0; i < tensor.shape.size(); ++i) {
      const uint64_t step = i == 0 ? block : 1;
      std::vector<uint64_t> shape = tensor.shape;
      shape[i] += step;
      shapes.push_back(shape);
      shape[i] = step;
      shapes.push_back(shape);
    }
    shapes.push_back({tensor.shape[0], 2, 2, 2});
    for (const std::vector<uint64_t>& shape : shapes) {
      if (shape == tensor.shape) continue;
      Rewritten file(GetParam());
      const std::string error = outcome(file.reshaped(tensor.name, shape));
      const bool named = error.find("the tensor " + tensor.name) != std::string::npos;
      EXPECT_TRUE(named || (error.empty() && is_unused(tensor.name)))
          << tensor.name << " [" << fmt::format("{}", fmt::join(shape, ", ")) << "]: " << error;
    }
  }
}

TEST_P(Mutation, ThatDropsATensorIsRefusedByNameOrRuns) {
  const Rewritten whole(GetParam());
  for (const gguf::Tensor& tensor : whole.source().tensors()) {
    Rewritten file(GetParam());
    const std::string error = outcome(file.without(tensor.name));
    EXPECT_TRUE(error.empty() || error.find("the tensor ") != std::string::npos)
        << tensor.name << ": " << error;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Mutation, ::testing::ValuesIn(repository_goldens()),
                         [](const auto& model) { return oxbow::testing::test_name(model.param); });

}  // namespace
}  // namespace oxbow::model
