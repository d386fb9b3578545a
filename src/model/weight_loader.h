#pragma once
// Tensors of a GGUF file by name, checked against the shape that the architecture expects.

#include <cstddef>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "base/thread_pool.h"
#include "gguf/file.h"
#include "model/matrix.h"

namespace oxbow::model {

// What the loader asks a tensor for.
enum class TensorUse {
  kMatrix,  // of any type
  kValues,  // f32 values: of a plain type
};

// Stands in for tensors that a file lacks: with it, an architecture's settings tell what a model consists of.
class TensorMaker {
 public:
  virtual ~TensorMaker() = default;
  // Whether the model has a tensor that it might not have.
  virtual bool has(std::string_view name) = 0;
  // A tensor of that shape, which lives as long as the maker.
  virtual const gguf::Tensor* make(const std::string& name, const std::vector<uint64_t>& shape,
                                   TensorUse use) = 0;
};

struct LoadOptions {
  // Multiply f32 activations with decoded weights instead of 8-bit products: exact up to f32 rounding, slow,
  // and four bytes per weight. For tests against exact references.
  bool decode_weights = false;
  // Go on when the file has settings or tensors that the architecture does not know.
  bool allow_unknown = false;
  // Leave the matrices empty: the model answers questions but must not run a step.
  bool shapes_only = false;
  // Called between tensors with the bytes done and in all; returning false stops the load.
  std::function<bool(size_t done, size_t total)> progress;
  // Asked for what the file lacks, when there is one.
  TensorMaker* maker = nullptr;
};

// Errors name the tensor, its shape and the expected one. Shapes are in GGUF order: [cols, rows, ...].
class WeightLoader {
 public:
  WeightLoader(const gguf::File& file, ThreadPool& pool, const LoadOptions& options);

  bool has(std::string_view name) const;
  // Entries of tokenizer.ggml.tokens, or the length of the embedding table in a file without a tokenizer.
  Result<size_t> vocabulary_size() const;
  // Checks presence and shape; trailing dimensions of 1 may be left out on either side.
  Result<const gguf::Tensor*> tensor(const std::string& name, std::vector<uint64_t> shape,
                                     TensorUse use = TensorUse::kMatrix);
  Result<Matrix> matrix(const std::string& name, size_t cols, size_t rows);
  Result<Matrix> experts(const std::string& name, size_t cols, size_t rows, size_t count);
  // A matrix of some rows of a tensor [cols, tensor_rows] (of each of its `count` matrices): row r is its row
  // source(r), below tensor_rows. For projections that a file stores as one.
  using SourceRow = std::function<size_t(size_t row)>;
  Result<Matrix> matrix_rows(const std::string& name, size_t cols, size_t tensor_rows, size_t rows,
                             const SourceRow& source);
  Result<Matrix> expert_rows(const std::string& name, size_t cols, size_t tensor_rows, size_t rows,
                             size_t count, const SourceRow& source);
  // Small tensors as f32 values, F32, F16 or BF16 in the file.
  Result<std::vector<float>> vector(const std::string& name, std::vector<uint64_t> shape);

  // Marks a tensor that files carry and the computation does not need.
  void ignore(const std::string& name) { read_.insert(name); }
  // Marks the tensors of a layer that the main pass does not run, for example a draft layer.
  void ignore_layer(size_t layer);
  // An error that names the first tensor that no one asked for.
  Status refuse_unread() const;

 private:
  struct Rows {
    size_t tensor_rows;
    size_t rows;
    const SourceRow* source;  // null: all of them in order
  };
  Result<Matrix> pack(const gguf::Tensor& tensor, size_t cols, const Rows& rows, size_t count);
  Status advance(size_t bytes);

  const gguf::File& file_;
  ThreadPool& pool_;
  const LoadOptions& options_;
  WeightArena arena_;
  std::set<std::string, std::less<>> read_;
  size_t done_bytes_ = 0;
  size_t total_bytes_ = 0;
};

}  // namespace oxbow::model
