#pragma once
// Saving, restoring and forgetting the conversations of slots, on the engine's thread.

#include <string>

#include "engine/batcher.h"
#include "engine/scheduler.h"

namespace oxbow::engine {

// `done` is called later: what is no longer held is evaluated first, among the other requests, under `id`.
void save_slot(Engine& engine, Batcher& batcher, RequestId id, size_t slot, std::string path,
               const std::string& partition, Scheduler::SlotCallback done);
Result<SlotReport> restore_slot(Engine& engine, Batcher& batcher, size_t slot, const std::string& path,
                                const std::string& partition);
Result<SlotReport> erase_slot(Engine& engine, Batcher& batcher, size_t slot, const std::string& partition);

}  // namespace oxbow::engine
