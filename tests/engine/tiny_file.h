#pragma once
// The tiny models that the architectures describe (model/tiny_model.h), as GGUF files with random weights.

#include <memory>
#include <string>
#include <vector>

#include "model/architectures.h"
#include "model/model.h"

namespace oxbow::testing {

// Entries of the vocabulary: no multiple of the rows of a panel.
constexpr size_t kTinyVocabulary = 37;

// "granitehybrid.experts": every tiny model of every architecture.
std::vector<std::string> tiny_model_names();

// The bytes of a file of the description's settings and of the tensors that the architecture asks for.
// Weights are seeded by the tensors' names and shaped by them: norms near 1, decays negative, matrices of
// unit gain. Matrices are F32, or 8-bit blocks where their rows are whole blocks; the description's own types
// go first. Errors: what the load says; an optional tensor, type or range of the description that no tensor
// has.
enum class TinyWeights { kFloat, kBlocks };
Result<std::vector<std::byte>> make_tiny_file(std::string_view architecture, const model::TinyModel& model,
                                              TinyWeights weights);

// Throws what make_tiny_file or the load says.
std::shared_ptr<const model::Model> load_tiny(const std::string& name, TinyWeights weights);

// The model of a file in memory, which it keeps.
Result<std::shared_ptr<const model::Model>> load_bytes(std::vector<std::byte> bytes, const std::string& name,
                                                       const model::LoadOptions& options = {});

}  // namespace oxbow::testing
