#pragma once
// What the bits of a state depend on besides the tokens: the model file and the numeric settings.

#include "memory/state_spec.h"
#include "model/model.h"
#include "store/container.h"

namespace oxbow::engine {

// XXH3-128 over the header of every part of the file, the length of each tensor and 64 KB samples of it (its
// start, its middle and its end), and the numeric settings: numerics version, K/V types, key block,
// activation block, how weights are multiplied, evaluator. The instruction set is not among them: results do
// not depend on it (docs/decisions/0001). Reads a few megabytes at most per gigabyte of weights.
stores::Fingerprint make_fingerprint(const model::Model& model, const memory::KvTypes& kv);

}  // namespace oxbow::engine
