#pragma once
// A stored checkpoint on its way into memory, part by part.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "memory/checkpoint.h"
#include "memory/state_spec.h"
#include "store/container_reader.h"

namespace oxbow::memory {

class Memory;

// Takes the object of a checkpoint first, then the segments that it needs, ascending; each may be let go of
// as soon as it was added. What has come lies in blocks of the budget, and nobody sees it before finish().
// Blocks are allocated as far as what must be evicted is worth less than the checkpoint. After an error it is
// of no use. Destroying it gives everything back. The memory outlives it, and no call falls into a step.
class Admission {
 public:
  Admission(Admission&& other) noexcept;
  Admission& operator=(Admission&&) = delete;
  ~Admission();

  size_t length() const { return tokens_.size(); }
  // The most bytes that the object of the checkpoint, or a segment that ends at `end`, is expected to have.
  uint64_t checkpoint_bytes() const;
  uint64_t segment_bytes(size_t end) const;

  // Objects on their way lie outside of blocks: counts their bytes against the budget, and no longer.
  // kOutOfBudget.
  Status expect(uint64_t size_bytes);
  void arrived(uint64_t size_bytes);

  // kInvalidInput for an object that is not the checkpoint of these tokens or does not fit the model;
  // kOutOfBudget.
  Status add_checkpoint(const stores::ContainerReader& reader);
  // The segments that are still wanted, by their ends. Pages that memory has already are shared with it.
  std::span<const size_t> wanted() const { return wanted_; }
  // The first of them. Errors as of add_checkpoint.
  Status add_segment(const stores::ContainerReader& reader);
  // Keeps the checkpoint. Needs nothing wanted.
  Status finish();

 private:
  friend class Memory;
  Admission(Memory& memory, std::span<const TokenId> tokens, std::string_view partition);
  Result<BlockRef> allocate(size_t size_bytes);
  void share_known_pages();

  Memory* memory_;
  std::vector<TokenId> tokens_;
  std::string partition_;
  double worth_ = 0;
  uint64_t expected_bytes_ = 0;
  std::optional<Checkpoint> checkpoint_;
  std::vector<size_t> wanted_;  // ends of segments
};

}  // namespace oxbow::memory
