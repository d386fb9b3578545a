#include "model/weight_loader.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "quant/blocks.h"

namespace oxbow::model {
namespace {

std::vector<uint64_t> without_trailing_ones(std::vector<uint64_t> shape) {
  while (shape.size() > 1 && shape.back() == 1) shape.pop_back();
  return shape;
}

bool is_plain(gguf::TensorType type) {
  return type == gguf::TensorType::kF32 || type == gguf::TensorType::kF16 || type == gguf::TensorType::kBF16;
}

}  // namespace

WeightLoader::WeightLoader(const gguf::File& file, ThreadPool& pool, const LoadOptions& options)
    : file_(file), pool_(pool), options_(options) {
  for (const gguf::Tensor& tensor : file.tensors()) total_bytes_ += tensor.data.size();
}

bool WeightLoader::has(std::string_view name) const {
  if (file_.find_tensor(name) != nullptr) return true;
  return options_.maker != nullptr && options_.maker->has(name);
}

Result<size_t> WeightLoader::vocabulary_size() const {
  OXBOW_ASSIGN(const auto* tokens, file_.find_string_array("tokenizer.ggml.tokens"));
  const gguf::Tensor* table = file_.find_tensor("token_embd.weight");
  const size_t size = tokens != nullptr ? tokens->size() : table != nullptr ? table->dimension(1) : 0;
  if (size == 0)
    return fail(ErrorKind::kInvalidInput, "the file has no vocabulary: tokenizer.ggml.tokens is missing");
  return size;
}

Result<const gguf::Tensor*> WeightLoader::tensor(const std::string& name, std::vector<uint64_t> shape,
                                                 TensorUse use) {
  read_.insert(name);
  const gguf::Tensor* tensor = file_.find_tensor(name);
  if (tensor == nullptr && options_.maker != nullptr) tensor = options_.maker->make(name, shape, use);
  if (tensor == nullptr) {
    return fail(ErrorKind::kInvalidInput, "the tensor {} is missing (expected shape [{}])", name,
                fmt::join(shape, ", "));
  }
  if (without_trailing_ones(tensor->shape) != without_trailing_ones(shape)) {
    return fail(ErrorKind::kInvalidInput, "the tensor {} has shape [{}], expected [{}]", name,
                fmt::join(tensor->shape, ", "), fmt::join(shape, ", "));
  }
  return tensor;
}

Result<Matrix> WeightLoader::matrix(const std::string& name, size_t cols, size_t rows) {
  OXBOW_ASSIGN(const gguf::Tensor* source, tensor(name, {cols, rows}));
  return pack(*source, cols, {rows, rows, nullptr}, 1);
}

Result<Matrix> WeightLoader::experts(const std::string& name, size_t cols, size_t rows, size_t count) {
  OXBOW_ASSIGN(const gguf::Tensor* source, tensor(name, {cols, rows, count}));
  return pack(*source, cols, {rows, rows, nullptr}, count);
}

Result<Matrix> WeightLoader::matrix_rows(const std::string& name, size_t cols, size_t tensor_rows,
                                         size_t rows, const SourceRow& source) {
  OXBOW_ASSIGN(const gguf::Tensor* tensor, this->tensor(name, {cols, tensor_rows}));
  return pack(*tensor, cols, {tensor_rows, rows, &source}, 1);
}

Result<Matrix> WeightLoader::expert_rows(const std::string& name, size_t cols, size_t tensor_rows,
                                         size_t rows, size_t count, const SourceRow& source) {
  OXBOW_ASSIGN(const gguf::Tensor* tensor, this->tensor(name, {cols, tensor_rows, count}));
  return pack(*tensor, cols, {tensor_rows, rows, &source}, count);
}

Result<std::vector<float>> WeightLoader::vector(const std::string& name, std::vector<uint64_t> shape) {
  OXBOW_ASSIGN(const gguf::Tensor* source, tensor(name, std::move(shape), TensorUse::kValues));
  if (!is_plain(source->type)) {
    return fail(ErrorKind::kUnsupported, "the tensor {} is {}, expected F32, F16 or BF16", name,
                gguf::tensor_type_info(source->type).name);
  }
  std::vector<float> values(source->elements);
  quant::decode(source->type, source->data, values);
  OXBOW_TRY(advance(source->data.size()));
  return values;
}

Result<Matrix> WeightLoader::pack(const gguf::Tensor& tensor, size_t cols, const Rows& rows, size_t count) {
  using gguf::TensorType;
  const bool decode = options_.decode_weights && tensor.type != TensorType::kF32;
  const TensorType type = decode ? TensorType::kF32 : tensor.type;
  const kernels::PanelFormat format = kernels::panel_format(type);
  if (kernels::takes_quantized_rows(format) && cols % kernels::kActivationBlock != 0) {
    return fail(ErrorKind::kUnsupported, "the tensor {} has rows of {} values, expected a multiple of {}",
                tensor.name, cols, kernels::kActivationBlock);
  }
  const size_t row_bytes = *gguf::tensor_bytes(tensor.type, cols);
  const size_t bytes = row_bytes * rows.rows * count;
  if (options_.shapes_only) {
    OXBOW_TRY(advance(bytes));
    return Matrix(format, rows.rows, cols, count, nullptr);
  }
  const size_t panel_bytes = kernels::panel_bytes(format, cols);
  const size_t panels_each = ceil_div(rows.rows, kernels::kPanelRows);
  const size_t panels = panels_each * count;
  WeightBytes buffer = arena_.allocate(panels * panel_bytes);
  if (buffer == nullptr) {
    return fail(ErrorKind::kOutOfBudget,
                "the tensor {} needs {} bytes of memory, which the system does not have", tensor.name,
                panels * panel_bytes);
  }
  pool_.run(panels, std::max<size_t>(1, panels / 64), [&](size_t begin, size_t end, int) {
    std::vector<std::byte> gathered;
    std::vector<float> decoded(decode ? kernels::kPanelRows * cols : 0);
    for (size_t panel = begin; panel < end; ++panel) {
      const size_t first = panel % panels_each * kernels::kPanelRows;
      const size_t in_panel = std::min(kernels::kPanelRows, rows.rows - first);
      const std::byte* matrix = tensor.data.data() + panel / panels_each * rows.tensor_rows * row_bytes;
      const std::byte* source = matrix + first * row_bytes;
      if (rows.source != nullptr) {
        gathered.resize(kernels::kPanelRows * row_bytes);
        for (size_t row = 0; row < in_panel; ++row) {
          std::memcpy(gathered.data() + row * row_bytes, matrix + (*rows.source)(first + row) * row_bytes,
                      row_bytes);
        }
        source = gathered.data();
      }
      std::byte* destination = buffer.get() + panel * panel_bytes;
      if (decode) {
        quant::decode(tensor.type, {source, in_panel * row_bytes}, std::span(decoded).first(in_panel * cols));
        kernels::pack_panel(type, reinterpret_cast<const std::byte*>(decoded.data()), cols * sizeof(float),
                            in_panel, cols, destination);
      } else {
        kernels::pack_panel(type, source, row_bytes, in_panel, cols, destination);
      }
    }
  });
  file_.release(tensor);
  OXBOW_TRY(advance(bytes));
  return Matrix(format, rows.rows, cols, count, std::move(buffer));
}

Status WeightLoader::advance(size_t bytes) {
  done_bytes_ += bytes;
  if (options_.progress && !options_.progress(done_bytes_, std::max(done_bytes_, total_bytes_))) {
    return fail(ErrorKind::kInvalidState, "loading was stopped");
  }
  return {};
}

void WeightLoader::ignore_layer(size_t layer) {
  const std::string prefix = fmt::format("blk.{}.", layer);
  for (const gguf::Tensor& tensor : file_.tensors()) {
    if (tensor.name.starts_with(prefix)) read_.insert(std::string(tensor.name));
  }
}

Status WeightLoader::refuse_unread() const {
  for (const gguf::Tensor& tensor : file_.tensors()) {
    if (!read_.contains(tensor.name)) {
      return fail(ErrorKind::kUnsupported,
                  "the tensor {} is not known for this architecture; it may change the results", tensor.name);
    }
  }
  return {};
}

}  // namespace oxbow::model
