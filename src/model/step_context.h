#pragma once
// What every part of the model needs during one step.

#include <cstddef>
#include <span>

#include "base/thread_pool.h"
#include "kernels/kernels.h"
#include "memory/views.h"
#include "model/rope.h"
#include "model/scratch.h"

namespace oxbow::model {

struct StepContext {
  const kernels::KernelTable& kernels;
  ThreadPool& pool;
  const memory::StepViews& views;
  std::span<const RopeTable> ropes;  // one per rope configuration of the model, for the rows of this step
  std::byte* scratch = nullptr;      // free for the part that runs; nothing in it outlives the call
  float* carried =
      nullptr;  // [rows, Network::carried_floats]: what a layer leaves for later ones of this step

  size_t rows() const { return views.rows; }
};

}  // namespace oxbow::model
