#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "memory/snapshot.h"

namespace oxbow::memory {
namespace {

constexpr uint64_t kMostTableBytes = uint64_t{1} << 28;
constexpr uint32_t kMostCheckpoints = 1 << 16;

tl::unexpected<Error> damaged(std::string_view what) {
  return fail(ErrorKind::kInvalidInput, "the table of checkpoints {}", what);
}

// Reads the table from untrusted bytes. Lengths are checked against what is left before anything is
// allocated.
class TableReader {
 public:
  TableReader(std::span<const std::byte> bytes, const MemoryLayout& layout, size_t token_count,
              const stores::ContainerReader& reader, bool segments)
      : bytes_(bytes), layout_(layout), token_count_(token_count), reader_(reader), segments_(segments) {}

  Result<std::vector<StoredCheckpoint>> read() {
    OXBOW_TRY(check_layout());
    OXBOW_ASSIGN(const uint32_t count, get<uint32_t>());
    if (count > kMostCheckpoints) return damaged("has too many entries");
    std::vector<StoredCheckpoint> checkpoints;
    for (uint32_t i = 0; i < count; ++i) {
      OXBOW_ASSIGN(StoredCheckpoint checkpoint, read_checkpoint());
      checkpoints.push_back(std::move(checkpoint));
    }
    if (!bytes_.empty()) return damaged("is longer than its entries");
    return checkpoints;
  }

 private:
  template <class T>
  Result<T> get() {
    if (bytes_.size() < sizeof(T)) return damaged("is cut off");
    const T value = load<T>(bytes_.data());
    bytes_ = bytes_.subspan(sizeof(T));
    return value;
  }

  Status check_layout() {
    OXBOW_ASSIGN(const uint64_t state_bytes, get<uint64_t>());
    OXBOW_ASSIGN(const uint64_t row_bytes, get<uint64_t>());
    OXBOW_ASSIGN(const uint32_t groups, get<uint32_t>());
    bool same = state_bytes == layout_.state_bytes() && row_bytes == layout_.row_bytes() &&
                groups == layout_.groups().size();
    for (size_t g = 0; same && g < groups; ++g) {
      OXBOW_ASSIGN(const uint64_t window, get<uint64_t>());
      OXBOW_ASSIGN(const uint64_t page_bytes, get<uint64_t>());
      same = window == layout_.groups()[g].window_tokens && page_bytes == layout_.groups()[g].page_bytes;
    }
    if (!same) return damaged("belongs to a model with another memory layout");
    return {};
  }

  // Pages of whole segments may lie elsewhere.
  bool is_in_segment(const KvGroup& group, uint64_t page, uint64_t length) const {
    return segments_ && group.window_tokens == 0 &&
           page < length / snapshot::kSegmentTokens * snapshot::kSegmentPages && bytes_.size() >= 4 &&
           load<uint32_t>(bytes_.data()) == StoredCheckpoint::kInSegment;
  }

  // A block of exactly `size` bytes.
  Result<uint32_t> get_block(size_t size) {
    OXBOW_ASSIGN(const uint32_t index, get<uint32_t>());
    if (index >= StoredCheckpoint::kInSegment) return damaged("has a gap where a block must be");
    const stores::Section* section = reader_.find({snapshot::kBlock, index});
    if (section == nullptr) return damaged(fmt::format("names block {}, which is not there", index));
    if (section->raw_bytes != size) {
      return damaged(fmt::format("names block {} of {} bytes; expected {}", index, section->raw_bytes, size));
    }
    return index;
  }

  Result<StoredCheckpoint::StoredBase> get_base() {
    StoredCheckpoint::StoredBase base;
    OXBOW_ASSIGN(base.position, get<uint64_t>());
    if (bytes_.size() >= 4 && load<uint32_t>(bytes_.data()) == StoredCheckpoint::kNoBlock) {
      bytes_ = bytes_.subspan(4);
      if (base.position != 0) return damaged("has a base without a state");
      return base;
    }
    OXBOW_ASSIGN(base.block, get_block(layout_.state_bytes()));
    return base;
  }

  // `count` blocks; there must be `expected`.
  Result<std::vector<uint32_t>> get_blocks(uint64_t expected, size_t size) {
    OXBOW_ASSIGN(const uint32_t count, get<uint32_t>());
    if (count != expected) return damaged(fmt::format("has {} blocks in a run of {}", count, expected));
    if (bytes_.size() / sizeof(uint32_t) < count) return damaged("is cut off");
    std::vector<uint32_t> blocks(count);
    for (uint32_t& block : blocks) {
      OXBOW_ASSIGN(block, get_block(size));
    }
    return blocks;
  }

  Result<StoredCheckpoint> read_checkpoint() {
    StoredCheckpoint checkpoint;
    OXBOW_ASSIGN(checkpoint.length, get<uint64_t>());
    if (checkpoint.length == 0 || checkpoint.length > token_count_)
      return damaged(fmt::format("has a length of {} with {} tokens", checkpoint.length, token_count_));
    OXBOW_TRY(read_log(checkpoint));
    const uint64_t floor = layout_.has_recurrent() ? checkpoint.base.position : checkpoint.length;
    for (const KvGroup& group : layout_.groups()) {
      StoredCheckpoint::StoredRun run;
      OXBOW_ASSIGN(run.first, get<uint64_t>());
      const uint64_t first_needed = group.window_tokens == 0 || floor + 1 <= group.window_tokens
                                        ? 0
                                        : (floor + 1 - group.window_tokens) / kPagePositions;
      if (run.first > first_needed) return damaged("lacks pages that are in sight");
      const uint64_t end = ceil_div(checkpoint.length, kPagePositions);
      OXBOW_ASSIGN(const uint32_t count, get<uint32_t>());
      if (count != end - run.first) return damaged("has too few or too many pages");
      if (bytes_.size() / sizeof(uint32_t) < count) return damaged("is cut off");
      for (uint64_t page = run.first; page < end; ++page) {
        if (is_in_segment(group, page, checkpoint.length)) {
          bytes_ = bytes_.subspan(sizeof(uint32_t));
          run.blocks.push_back(StoredCheckpoint::kInSegment);
          continue;
        }
        OXBOW_ASSIGN(const uint32_t block, get_block(group.page_bytes));
        run.blocks.push_back(block);
      }
      checkpoint.pages.push_back(std::move(run));
    }
    return checkpoint;
  }

  Status read_log(StoredCheckpoint& checkpoint) {
    OXBOW_ASSIGN(checkpoint.base, get_base());
    OXBOW_ASSIGN(const uint8_t has_next_base, get<uint8_t>());
    if (has_next_base > 1) return damaged("has a flag that is neither 0 nor 1");
    checkpoint.has_next_base = has_next_base == 1;
    if (checkpoint.has_next_base) {
      OXBOW_ASSIGN(checkpoint.next_base, get_base());
    }
    OXBOW_ASSIGN(checkpoint.first_row_page, get<uint64_t>());
    const bool recurrent = layout_.has_recurrent();
    const uint64_t base = checkpoint.base.position;
    if (base > checkpoint.length || (!recurrent && (base != 0 || checkpoint.has_next_base)))
      return damaged("has a base beyond its length");
    if (checkpoint.has_next_base &&
        (checkpoint.next_base.position < base || checkpoint.next_base.position > checkpoint.length ||
         checkpoint.next_base.block == StoredCheckpoint::kNoBlock))
      return damaged("has a second base out of place");
    const bool rows = recurrent && base < checkpoint.length;
    if (rows && checkpoint.first_row_page != base / kRowPageTokens)
      return damaged("has a log that does not start at its base");
    const uint64_t count = rows ? ceil_div(checkpoint.length, kRowPageTokens) - checkpoint.first_row_page : 0;
    OXBOW_ASSIGN(checkpoint.row_pages, get_blocks(count, layout_.row_page_bytes()));
    if (!rows) checkpoint.first_row_page = 0;
    return {};
  }

  std::span<const std::byte> bytes_;
  const MemoryLayout& layout_;
  size_t token_count_;
  const stores::ContainerReader& reader_;
  bool segments_;
};

}  // namespace

Result<std::vector<TokenId>> read_tokens(const stores::ContainerReader& reader) {
  OXBOW_ASSIGN(const stores::SectionBytes section,
               reader.read({snapshot::kTokens, 0}, snapshot::kMostTokens * sizeof(TokenId)));
  const auto bytes = section.bytes();
  if (bytes.size() % sizeof(TokenId) != 0)
    return fail(ErrorKind::kInvalidInput, "the token ids take {} bytes, which is not a multiple of 4",
                bytes.size());
  std::vector<TokenId> tokens(bytes.size() / sizeof(TokenId));
  if (!bytes.empty()) std::memcpy(tokens.data(), bytes.data(), bytes.size());
  for (const TokenId token : tokens) {
    if (token < 0) return fail(ErrorKind::kInvalidInput, "a token id is {}", token);
  }
  return tokens;
}

Result<std::vector<StoredCheckpoint>> read_checkpoints(const MemoryLayout& layout, size_t token_count,
                                                       const stores::ContainerReader& reader, bool segments) {
  OXBOW_ASSIGN(const stores::SectionBytes section, reader.read({snapshot::kCheckpoints, 0}, kMostTableBytes));
  return TableReader(section.bytes(), layout, token_count, reader, segments).read();
}

}  // namespace oxbow::memory
