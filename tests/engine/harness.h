#pragma once
// A model, a memory and a forward pass in the plainest form, for tests that cut tokens into steps in odd
// ways.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "memory/memory.h"
#include "model/architectures.h"
#include "model/model.h"
#include "support/golden.h"
#include "support/shared.h"

namespace oxbow::testing {

using memory::BatchEntry;
using memory::Memory;
using memory::SequenceId;
using memory::TokenId;
using Row = std::vector<float>;

inline std::vector<std::string> repository_goldens() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(source_path("tests/golden"))) {
    if (entry.path().extension() == ".gguf") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

// The models of the shared folder whose architecture this build runs; none without the folder.
inline std::vector<std::string> shared_goldens() {
  std::vector<std::string> names;
  if (shared_directory().empty()) return names;
  for (const std::string& name : golden_models()) {
    if (model::find_architecture(Golden(name).string("arch")) != nullptr) names.push_back(name);
  }
  return names;
}

inline std::string test_name(std::string name) {
  std::ranges::replace_if(
      name, [](char c) { return c == '-' || c == '.'; }, '_');
  return name;
}

inline std::shared_ptr<const model::Model> load_model(const std::string& path,
                                                      const model::LoadOptions& options = {}) {
  ThreadPool pool(1);
  auto file = gguf::File::open(path);
  if (!file) throw std::runtime_error(file.error().message);
  auto loaded = model::Model::load(std::make_shared<const gguf::File>(std::move(*file)), pool, options);
  if (!loaded) throw std::runtime_error(loaded.error().message);
  return std::move(*loaded);
}

constexpr memory::KvTypes kFloatKv{kernels::KvType::kF32, kernels::KvType::kF32};

// Steps with the logits of every token. With rewind_bytes = 1 the log is as short as it can be, so that bases
// move often.
class Runner {
 public:
  Runner(std::shared_ptr<const model::Model> model, int threads, memory::KvTypes kv = kFloatKv,
         size_t rewind_bytes = 1)
      : Runner(std::move(model), threads, memory::MemoryOptions{size_t{1} << 30, rewind_bytes, kv}) {}
  Runner(std::shared_ptr<const model::Model> model, int threads, const memory::MemoryOptions& options)
      : model_(std::move(model)), pool_(threads), options_(options) {
    restart();
  }

  Memory& memory() { return *memory_; }
  // Forgets everything.
  void restart() { memory_ = std::make_unique<Memory>(model_->state_specs(), options_); }
  const model::Model& model() const { return *model_; }

  // Evaluates the batch and returns its logits row by row; then commits accepted[i] tokens of entry i (all of
  // them when accepted is empty), or abandons the step.
  std::vector<Row> step(std::span<const BatchEntry> batch, std::span<const size_t> accepted = {},
                        bool abandon = false) {
    auto rows = try_step(batch, accepted, abandon);
    if (!rows) throw std::runtime_error(rows.error().message);
    return std::move(*rows);
  }

  // The same, or the error that says why it could not be prepared.
  Result<std::vector<Row>> try_step(std::span<const BatchEntry> batch, std::span<const size_t> accepted = {},
                                    bool abandon = false) {
    std::vector<TokenId> tokens;
    for (const BatchEntry& entry : batch)
      tokens.insert(tokens.end(), entry.tokens.begin(), entry.tokens.end());
    std::vector<size_t> outputs(tokens.size());
    for (size_t i = 0; i < outputs.size(); ++i) outputs[i] = i;
    const size_t vocabulary = model_->vocabulary();
    std::vector<float> logits(tokens.size() * vocabulary);
    AlignedBuffer scratch(model_->scratch_bytes(tokens.size(), outputs.size(), pool_.size()));
    std::memset(scratch.data(), 0xff,
                scratch.size());  // every float a NaN: nothing may leak from step to step
    OXBOW_ASSIGN(memory::Step step, memory_->prepare(batch));
    model_->forward(step.views(), tokens, outputs, pool_, scratch.as<std::byte>(), logits.data());
    if (!abandon) accepted.empty() ? step.commit() : step.commit(accepted);
    std::vector<Row> rows;
    for (size_t i = 0; i < tokens.size(); ++i) {
      const auto begin = logits.begin() + static_cast<ptrdiff_t>(i * vocabulary);
      rows.emplace_back(begin, begin + static_cast<ptrdiff_t>(vocabulary));
    }
    return rows;
  }

  std::vector<Row> append(SequenceId sequence, std::span<const TokenId> tokens) {
    const BatchEntry entry{sequence, tokens, 0};
    return step({&entry, 1});
  }

  // The logits of all tokens from an empty sequence, in steps of `chunk`.
  std::vector<Row> run(std::span<const TokenId> tokens, size_t chunk = SIZE_MAX) {
    const SequenceId sequence = memory_->create();
    std::vector<Row> rows;
    for (size_t done = 0; done < tokens.size();) {
      const size_t count = std::min(chunk, tokens.size() - done);
      for (Row& row : append(sequence, tokens.subspan(done, count))) rows.push_back(std::move(row));
      done += count;
    }
    (void)memory_->drop(sequence);
    return rows;
  }

 private:
  std::shared_ptr<const model::Model> model_;
  ThreadPool pool_;
  memory::MemoryOptions options_;
  std::unique_ptr<Memory> memory_;
};

inline bool same_bits(const Row& a, const Row& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

// A fixed pseudo-random token sequence.
inline std::vector<TokenId> some_tokens(size_t count, size_t vocabulary, uint64_t seed) {
  std::vector<TokenId> tokens;
  for (size_t i = 0; i < count; ++i) {
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
    tokens.push_back(static_cast<TokenId>((seed >> 33) % vocabulary));
  }
  return tokens;
}

}  // namespace oxbow::testing
