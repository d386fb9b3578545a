// Taking tokens out of the middle of a sequence: refused, with the reason.

#include <algorithm>

#include "memory/memory.h"

namespace oxbow::memory {

Result<size_t> Memory::remove(SequenceId id, size_t begin, size_t end) {
  const Sequence* sequence = find(id);
  if (sequence == nullptr) return fail(ErrorKind::kNotFound, "there is no sequence {}", id);
  if (begin > end || end > sequence->length) {
    return fail(ErrorKind::kInvalidInput, "tokens {} to {} cannot be removed from sequence {}: it has {}",
                begin, end, id, sequence->length);
  }
  if (begin == end) return sequence->length;
  if (end == sequence->length) return truncate(id, begin);
  const char* reason = layout_.has_recurrent()
                           ? "the recurrent state after them depends on every one of them"
                           : "keys and values after them were computed from them and for their positions";
  return fail(
      ErrorKind::kUnsupported,
      "tokens {} to {} cannot be removed from the middle of sequence {}: {}; open the tokens that are "
      "left as a prompt, which reuses the first {}",
      begin, end, id, reason, begin);
}

}  // namespace oxbow::memory
