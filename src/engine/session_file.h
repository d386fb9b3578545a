#pragma once
// Saved sequences: a sequence with its checkpoints in one file, from which it continues with the same bits.
// The format is docs/formats/session.md.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "engine/engine.h"

namespace oxbow::engine {

struct RestoredSession {
  SequenceId sequence = 0;      // holds the first `restored` tokens
  std::vector<TokenId> tokens;  // all that were saved; the caller evaluates what is not restored
  size_t restored = 0;
  std::string text;              // what the caller saved beside the tokens
  std::string recompute_reason;  // why `restored` may be less than the tokens; empty: it is not
  bool other_model = false;      // the fingerprint differs: token ids may mean something else here
};

// Writes a sequence, the kept checkpoints on its way, and `text` (the caller's: any bytes) to a file of mode
// 0600: a temporary name, synced, renamed. kIo, kNotFound.
Status save_session(Engine& engine, SequenceId sequence, const std::string& path, std::string_view text = {});

// A damaged file is refused with a reason and changes nothing. A file of another model build or other numeric
// settings gives its tokens and text, and a sequence that reuses what memory knows of them. Checkpoints of
// the file are kept as room allows, for sequences of `partition`.
Result<RestoredSession> restore_session(Engine& engine, const std::string& path,
                                        std::string_view partition = {});

}  // namespace oxbow::engine
