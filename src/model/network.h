#pragma once
// A model as data: what an architecture file builds and the forward pass runs.

#include <cstddef>
#include <memory>
#include <vector>

#include "gguf/file.h"
#include "model/matrix.h"
#include "model/mixer.h"
#include "model/rope.h"

namespace oxbow::model {

// RMS norm; with a bias, layer norm.
struct Norm {
  Norm() = default;
  Norm(std::vector<float> scale_in) : scale(std::move(scale_in)) {}  // NOLINT: a scale is an RMS norm
  bool empty() const { return scale.empty(); }

  std::vector<float> scale;
  std::vector<float> bias;
};

// x += residual_scale * sum of mixers(norm x);  x += residual_scale * sum of feed-forwards(norm x).
// Either half may be empty. A post norm, where a layer has one, applies to what each mixer (feed-forward)
// gives before it is added.
struct Layer {
  Norm mixer_norm;
  std::vector<std::unique_ptr<Mixer>> mixers;
  Norm mixer_post_norm;
  Norm feed_forward_norm;
  std::vector<std::unique_ptr<FeedForward>> feed_forwards;
  Norm feed_forward_post_norm;
};

struct Network {
  size_t embedding = 0;
  size_t vocabulary = 0;
  size_t context_length = 0;  // what the model was trained for
  float norm_epsilon = 0.0f;
  const gguf::Tensor* token_embedding = nullptr;  // [embedding, vocabulary], read row by row from the file
  float embedding_scale = 1.0f;
  Norm embedding_norm;  // of the embedded tokens, or empty
  float residual_scale = 1.0f;
  std::vector<Layer> layers;
  size_t carried_floats = 0;  // per token, what layers leave for later ones (StepContext::carried)
  Norm output_norm;
  Matrix output;
  bool tied_output = false;
  float logit_scale = 1.0f;  // logits are divided by it
  std::vector<RopeConfig> ropes;

  // The index of a rope configuration, added when it is new.
  size_t add_rope(const RopeConfig& config);
};

}  // namespace oxbow::model
