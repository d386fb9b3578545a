#include "text/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace oxbow::text {

namespace {

// Steps allowed per byte of the subject. The project's patterns need a handful; only a pattern that
// backtracks over what it already tried comes near.
constexpr uint64_t kStepsPerByte = 64;
constexpr uint64_t kLeastSteps = 10'000'000;
constexpr uint32_t kHeapLimitKib = 256 * 1024;

struct CodeDeleter {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
};
struct MatchDataDeleter {
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};
struct MatchContextDeleter {
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
};

}  // namespace

struct RegexScratch::Data {
  std::unique_ptr<pcre2_match_data, MatchDataDeleter> match;
  std::unique_ptr<pcre2_match_context, MatchContextDeleter> context;
};

RegexScratch::RegexScratch() : data_(std::make_unique<Data>()) {
  data_->match.reset(pcre2_match_data_create(1, nullptr));
  data_->context.reset(pcre2_match_context_create(nullptr));
  if (data_->context) pcre2_set_heap_limit(data_->context.get(), kHeapLimitKib);
}
RegexScratch::RegexScratch(RegexScratch&&) noexcept = default;
RegexScratch& RegexScratch::operator=(RegexScratch&&) noexcept = default;
RegexScratch::~RegexScratch() = default;

struct Regex::Data {
  std::unique_ptr<pcre2_code, CodeDeleter> code;
  bool jit = false;
};

Regex::Regex(std::unique_ptr<Data> data) : data_(std::move(data)) {}
Regex::Regex(Regex&&) noexcept = default;
Regex& Regex::operator=(Regex&&) noexcept = default;
Regex::~Regex() = default;

Result<Regex> Regex::compile(std::string_view pattern) {
  int error = 0;
  PCRE2_SIZE offset = 0;
  auto data = std::make_unique<Data>();
  data->code.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
                                 PCRE2_UTF | PCRE2_UCP | PCRE2_DOLLAR_ENDONLY | PCRE2_NEVER_BACKSLASH_C,
                                 &error, &offset, nullptr));
  if (!data->code) {
    std::array<PCRE2_UCHAR, 256> reason{};
    pcre2_get_error_message(error, reason.data(), reason.size());
    return fail(ErrorKind::kInvalidInput, "pattern \"{}\", offset {}: {}", pattern, offset,
                reinterpret_cast<const char*>(reason.data()));
  }
  // Fails where the system forbids writable code pages; the interpreter gives the same matches.
  data->jit = pcre2_jit_compile(data->code.get(), PCRE2_JIT_COMPLETE) == 0;
  return Regex(std::move(data));
}

Regex::Outcome Regex::search(std::string_view subject, size_t start, RegexScratch& scratch, size_t& begin,
                             size_t& end) const {
  pcre2_match_data* match = scratch.data_->match.get();
  pcre2_match_context* context = scratch.data_->context.get();
  if (match == nullptr || context == nullptr) return Outcome::kGaveUp;
  const uint64_t steps = std::max<uint64_t>(kLeastSteps, kStepsPerByte * (subject.size() - start));
  pcre2_set_match_limit(context, static_cast<uint32_t>(std::min<uint64_t>(steps, UINT32_MAX)));

  const auto* bytes = reinterpret_cast<PCRE2_SPTR>(subject.data());
  int outcome = PCRE2_ERROR_JIT_STACKLIMIT;
  if (data_->jit)
    outcome = pcre2_jit_match(data_->code.get(), bytes, subject.size(), start, 0, match, context);
  if (outcome == PCRE2_ERROR_JIT_STACKLIMIT) {
    outcome = pcre2_match(data_->code.get(), bytes, subject.size(), start, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
                          match, context);
  }
  if (outcome == PCRE2_ERROR_NOMATCH) return Outcome::kNoMatch;
  if (outcome < 0) return Outcome::kGaveUp;
  const PCRE2_SIZE* offsets = pcre2_get_ovector_pointer(match);
  begin = offsets[0];
  end = offsets[1];
  return Outcome::kMatch;
}

}  // namespace oxbow::text
