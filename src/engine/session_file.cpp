#include "engine/session_file.h"

#include <algorithm>

#include "base/atomic_file.h"
#include "base/mapped_file.h"
#include "engine/fingerprint.h"
#include "memory/snapshot.h"
#include "store/container_reader.h"
#include "store/container_writer.h"

namespace oxbow::engine {
namespace {

constexpr stores::SectionId kText{memory::snapshot::kFirstFree, 0};
constexpr size_t kMostTextBytes = size_t{256} << 20;

tl::unexpected<Error> in_file(Error error, const std::string& path) {
  if (error.message.find(path) == std::string::npos) error.message = path + ": " + error.message;
  return tl::unexpected<Error>(std::move(error));
}

Result<std::string> read_text(const stores::ContainerReader& reader) {
  if (reader.find(kText) == nullptr) return std::string();
  OXBOW_ASSIGN(const stores::SectionBytes section, reader.read(kText, kMostTextBytes));
  const auto bytes = section.bytes();
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

// Another model build or other settings: only the tokens count.
Result<RestoredSession> start_again(Engine& engine, RestoredSession session, std::string_view partition) {
  session.sequence = engine.memory().create(partition);
  if (session.tokens.empty()) return session;
  OXBOW_TRY(engine.memory().drop(session.sequence));
  OXBOW_ASSIGN(const memory::Opened opened, engine.memory().open(session.tokens, {}, partition));
  session.sequence = opened.sequence;
  session.restored = opened.reused;
  return session;
}

Result<RestoredSession> read_session(Engine& engine, const stores::ContainerReader& reader,
                                     std::string_view partition) {
  RestoredSession session;
  OXBOW_ASSIGN(session.text, read_text(reader));
  OXBOW_ASSIGN(session.tokens, memory::read_tokens(reader));
  const auto vocabulary = engine.model().vocabulary();
  const bool known = std::ranges::all_of(
      session.tokens, [&](TokenId token) { return static_cast<size_t>(token) < vocabulary; });
  if (reader.fingerprint() != make_fingerprint(engine.model(), engine.options().kv)) {
    session.recompute_reason = "it was saved with another model file or other numeric settings";
    session.other_model = true;
    if (!known) session.tokens.clear();  // of another vocabulary
    return start_again(engine, std::move(session), partition);
  }
  if (!known) return fail(ErrorKind::kInvalidInput, "a token id is outside the vocabulary");
  auto restored = engine.memory().restore(reader, partition);
  if (!restored && restored.error().kind == ErrorKind::kOutOfBudget) {
    session.recompute_reason = restored.error().message;
    return start_again(engine, std::move(session), partition);
  }
  if (!restored) return tl::unexpected<Error>(std::move(restored).error());
  session.sequence = restored->sequence;
  session.restored = restored->restored;
  return session;
}

}  // namespace

Status save_session(Engine& engine, SequenceId sequence, const std::string& path, std::string_view text) {
  OXBOW_ASSIGN(AtomicFile file, AtomicFile::create(path, 0600));
  stores::ContainerWriter writer([&](std::span<const std::byte> bytes) { return file.write(bytes); },
                                 stores::ObjectKind::kSession,
                                 make_fingerprint(engine.model(), engine.options().kv));
  OXBOW_TRY(writer.add(kText, std::as_bytes(std::span(text))));
  OXBOW_TRY(engine.memory().save(sequence, writer));
  OXBOW_TRY(writer.finish());
  return file.commit();
}

Result<RestoredSession> restore_session(Engine& engine, const std::string& path, std::string_view partition) {
  OXBOW_ASSIGN(const MappedFile file, MappedFile::open(path));
  auto reader = stores::ContainerReader::open(file.bytes(), path);
  if (!reader) return in_file(std::move(reader).error(), path);
  if (reader->kind() != stores::ObjectKind::kSession)
    return fail(ErrorKind::kInvalidInput, "{}: is no saved session", path);
  auto session = read_session(engine, *reader, partition);
  if (!session) return in_file(std::move(session).error(), path);
  return session;
}

}  // namespace oxbow::engine
