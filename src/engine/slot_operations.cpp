#include "engine/slot_operations.h"

#include <sys/stat.h>

#include "engine/session_file.h"

namespace oxbow::engine {
namespace {

Result<Batcher::Slot*> idle_slot(Batcher& batcher, size_t number) {
  if (number >= batcher.slots().size())
    return fail(ErrorKind::kNotFound, "there is no slot {}; there are {}", number, batcher.slots().size());
  Batcher::Slot& slot = batcher.slots()[number];
  if (slot.choice != nullptr) return fail(ErrorKind::kInvalidState, "slot {} is in use", number);
  return &slot;
}

Result<Batcher::Slot*> conversation_slot(Batcher& batcher, size_t number, const std::string& partition) {
  OXBOW_ASSIGN(Batcher::Slot * slot, idle_slot(batcher, number));
  if (slot->last.tokens.empty() || slot->last.partition != partition)
    return fail(ErrorKind::kNotFound, "slot {} holds no conversation", number);
  return slot;
}

size_t file_bytes(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? static_cast<size_t>(status.st_size) : 0;
}

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Hands the outcome of an internal request to its callback, once.
class Answer : public Sink {
 public:
  explicit Answer(Scheduler::SlotCallback done) : done_(std::move(done)) {}

  void set(Result<SlotReport> report) { report_ = std::move(report); }
  Next token(const TokenEvent& /*event*/) override { return Next::kStop; }
  void finished(const Finished& finished) override {
    if (finished.reason != FinishReason::kEnd)
      report_ = oxbow::fail(ErrorKind::kInvalidState, "the scheduler stopped before the slot was saved");
    done_(std::move(report_));
  }
  void failed(const Error& error) override { done_(tl::unexpected<Error>(error)); }

 private:
  Scheduler::SlotCallback done_;
  Result<SlotReport> report_;
};

}  // namespace

void save_slot(Engine& engine, Batcher& batcher, RequestId id, size_t number, std::string path,
               const std::string& partition, Scheduler::SlotCallback done) {
  const auto slot = conversation_slot(batcher, number, partition);
  if (!slot) return done(tl::unexpected<Error>(slot.error()));
  Request request;
  request.prompt = (*slot)->last.tokens;
  request.partition = partition;
  request.slot = number;
  auto answer = std::make_shared<Answer>(std::move(done));
  const auto save = [&engine, sink = answer.get(), path = std::move(path), tokens = request.prompt.size(),
                     begin = Clock::now()](SequenceId sequence) {
    const Status saved = save_session(engine, sequence, path);
    if (!saved) return sink->set(tl::unexpected<Error>(saved.error()));
    SlotReport report;
    report.tokens = report.reusable = tokens;
    report.file_bytes = file_bytes(path);
    report.seconds = seconds_since(begin);
    sink->set(report);
  };
  batcher.add_internal(id, std::move(request), answer, save);
}

Result<SlotReport> restore_slot(Engine& engine, Batcher& batcher, size_t number, const std::string& path,
                                const std::string& partition) {
  const Clock::time_point begin = Clock::now();
  OXBOW_ASSIGN(Batcher::Slot * slot, idle_slot(batcher, number));
  OXBOW_ASSIGN(RestoredSession session, restore_session(engine, path, partition));
  memory::Memory& memory = engine.memory();
  const Status kept = memory.keep(session.sequence);
  OXBOW_TRY(memory.drop(session.sequence));
  OXBOW_TRY(kept);
  SlotReport report;
  report.tokens = session.tokens.size();
  report.reusable = memory.tree().match(partition, session.tokens, session.tokens.size()).reused;
  report.reason = std::move(session.recompute_reason);
  if (report.reusable < report.tokens && report.reason.empty())
    report.reason = "the memory budget has no room for all of it";
  report.file_bytes = file_bytes(path);
  slot->last = {partition, std::move(session.tokens)};
  report.seconds = seconds_since(begin);
  return report;
}

Result<SlotReport> erase_slot(Engine& engine, Batcher& batcher, size_t number, const std::string& partition) {
  const Clock::time_point begin = Clock::now();
  OXBOW_ASSIGN(Batcher::Slot * slot, conversation_slot(batcher, number, partition));
  SlotReport report;
  report.tokens = slot->last.tokens.size();
  engine.memory().forget(slot->last.tokens, partition);
  slot->last = {};
  report.reusable = engine.memory().known(slot->last.tokens, partition).reused;
  report.seconds = seconds_since(begin);
  return report;
}

}  // namespace oxbow::engine
