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

// x += residual_scale * sum of mixers(norm x);  x += residual_scale * sum of feed-forwards(norm x).
// Either half may be empty. A post norm, where a layer has one, applies to what each mixer (feed-forward)
// gives before it is added.
struct Layer {
  std::vector<float> mixer_norm;
  std::vector<std::unique_ptr<Mixer>> mixers;
  std::vector<float> mixer_post_norm;
  std::vector<float> feed_forward_norm;
  std::vector<std::unique_ptr<FeedForward>> feed_forwards;
  std::vector<float> feed_forward_post_norm;
};

struct Network {
  size_t embedding = 0;
  size_t vocabulary = 0;
  size_t context_length = 0;  // what the model was trained for
  float norm_epsilon = 0.0f;
  const gguf::Tensor* token_embedding = nullptr;  // [embedding, vocabulary], read row by row from the file
  float embedding_scale = 1.0f;
  float residual_scale = 1.0f;
  std::vector<Layer> layers;
  std::vector<float> output_norm;
  Matrix output;
  bool tied_output = false;
  float logit_scale = 1.0f;  // logits are divided by it
  std::vector<RopeConfig> ropes;

  // The index of a rope configuration, added when it is new.
  size_t add_rope(const RopeConfig& config);
};

}  // namespace oxbow::model
