// Sequences in files.

#include "engine/session_file.h"

#include "c_api/arguments.h"
#include "c_api/objects.h"

using namespace oxbow;
using namespace oxbow::c_api;

oxbow_result oxbow_sequence_save(oxbow_engine* engine, oxbow_sequence sequence, const char* path,
                                 const char* text, size_t text_bytes) {
  return guarded([&]() -> Outcome {
    OXBOW_ASSIGN(const auto object, use_engine(engine));
    OXBOW_TRY(require(path, "path"));
    OXBOW_ASSIGN(const auto bytes, list(text, text_bytes, "text"));
    return engine::save_session(*object->engine, sequence, path, {bytes.data(), bytes.size()});
  });
}

oxbow_result oxbow_sequence_restore(oxbow_engine* engine, const char* path, const char* partition,
                                    oxbow_restored* restored) {
  return guarded([&]() -> Outcome {
    OXBOW_ASSIGN(const auto object, use_engine(engine));
    OXBOW_TRY(require(path, "path"));
    OXBOW_TRY(check_struct(restored, "restored"));
    OXBOW_ASSIGN(object->restored,
                 engine::restore_session(*object->engine, path, partition != nullptr ? partition : ""));
    const engine::RestoredSession& session = object->restored;
    oxbow_restored answer{};
    answer.sequence = session.sequence;
    answer.restored = session.restored;
    answer.tokens = session.tokens.data();
    answer.token_count = session.tokens.size();
    answer.text = session.text.c_str();
    answer.text_bytes = session.text.size();
    answer.recompute_reason = session.recompute_reason.c_str();
    write_struct(answer, restored);
    return {};
  });
}
