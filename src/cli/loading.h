#pragma once
// From a path to a model that runs, with progress on the way.

#include <functional>
#include <memory>
#include <string>

#include "cli/console.h"
#include "cli/options.h"
#include "engine/engine.h"
#include "gguf/file.h"
#include "model/model.h"
#include "text/tokenizer.h"

namespace oxbow::cli {

// Finds and opens the file.
Result<std::shared_ptr<const gguf::File>> open_model_file(const ModelOptions& options);

// How to treat the weights.
enum class Weights { kPacked, kExact, kShapesOnly };

// Told about bytes; false stops the loading.
using LoadProgress = std::function<bool(size_t done, size_t total)>;

// kInvalidState when it was interrupted, or stopped by `also`. Messages name the file.
Result<std::shared_ptr<const model::Model>> load_model(std::shared_ptr<const gguf::File> file,
                                                       const ModelOptions& options, Weights weights,
                                                       Console& console, const LoadProgress& also = {});

Result<std::unique_ptr<text::Tokenizer>> load_tokenizer(const gguf::File& file);

// The engine with as much memory as the choices say. batch and outputs: tokens and rows of logits of a step.
Result<std::unique_ptr<engine::Engine>> make_engine(std::shared_ptr<const model::Model> model,
                                                    const MemoryChoices& memory, int threads, size_t batch,
                                                    size_t outputs);

// The memory budget in bytes that a choice of MiB stands for; 0: the engine's default.
size_t budget_bytes(const MemoryChoices& memory);

// Tokens for which the layout's keys, values, states and logs fit the bytes; SIZE_MAX when no token costs
// anything.
size_t tokens_that_fit(const memory::MemoryLayout& layout, size_t reach_rows, size_t free_bytes);

// The context size for a choice (see MemoryChoices::context), at least 1. Warns about one that the model was
// not trained for or that the memory does not hold.
size_t choose_context(const MemoryChoices& choices, const model::Model& model, const memory::Memory& memory,
                      Console& console);

// An error of the engine with what the user can do about it.
Error with_advice(Error error);

}  // namespace oxbow::cli
