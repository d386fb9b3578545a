// The first guarantee: the logits of a token depend on the model and the tokens before it, and on nothing
// else. Random operations run over a few sequences; whatever they did, each token's logits must have the bits
// of one plain pass over the same tokens.

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <chrono>
#include <cstdlib>
#include <map>

#include "engine/crashing_disk.h"
#include "engine/harness.h"
#include "engine/tiers.h"
#include "engine/tiny_file.h"

namespace oxbow::testing {
namespace {

struct Op {
  enum Kind : uint8_t {
    kAppend,
    kBatch,
    kFork,
    kTruncate,
    kDrop,
    kAbandon,
    kReject,
    kCreate,
    kOpen,
    kReopen,
    kKeep,
    kEvict,
    kSave,
    kCrash,
    kKinds
  };
  Kind kind;
  uint8_t which;  // sequence
  uint16_t amount;
};

std::ostream& operator<<(std::ostream& out, const Op& op) {
  constexpr const char* kNames[] = {"append", "batch", "fork",   "truncate", "drop",  "abandon", "reject",
                                    "create", "open",  "reopen", "keep",     "evict", "save",    "crash"};
  return out << kNames[op.kind] << '(' << int{op.which} << ", " << op.amount << ')';
}

}  // namespace
}  // namespace oxbow::testing

namespace rc {
template <>
struct Arbitrary<oxbow::testing::Op> {
  // Resized: small cases have fewer operations, not fewer kinds of them.
  static Gen<oxbow::testing::Op> arbitrary() {
    using oxbow::testing::Op;
    return gen::build<Op>(gen::set(&Op::kind, gen::map(gen::resize(100, gen::inRange<int>(0, Op::kKinds)),
                                                       [](int kind) { return static_cast<Op::Kind>(kind); })),
                          gen::set(&Op::which),
                          gen::set(&Op::amount, gen::resize(100, gen::inRange<uint16_t>(0, 65535))));
  }
};
}  // namespace rc

namespace oxbow::testing {
namespace {

// The logits of a token sequence in one plain pass, remembered for its prefixes.
class Oracle {
 public:
  Oracle(std::shared_ptr<const model::Model> model, memory::KvTypes kv) : model_(std::move(model)), kv_(kv) {}

  void expect(std::span<const TokenId> tokens, const std::vector<Row>& rows) {
    // Rewind bytes of a gigabyte: the log keeps every row, and no base is ever laid.
    Runner plain(model_, 1, kv_, size_t{1} << 28);
    const std::vector<Row> reference = plain.run(tokens);
    RC_ASSERT(rows.size() == tokens.size());
    for (size_t i = 0; i < rows.size(); ++i) {
      if (!rows[i].empty()) RC_ASSERT(same_bits(rows[i], reference[i]));  // empty: never evaluated
    }
  }

 private:
  std::shared_ptr<const model::Model> model_;
  memory::KvTypes kv_;
};

// Sequences under random operations, each with the tokens it should hold and the logits seen for them.
class Players {
 public:
  // disk: with a disk tier, which crashes are survived by.
  Players(std::shared_ptr<const model::Model> model, int threads, const memory::MemoryOptions& options,
          bool disk)
      : runner_(model, threads, options), oracle_(model, options.kv) {
    if (disk) {
      disk_.emplace();
      start_tier();
    }
    create();
  }

  void play(const Op& op) {
    if (players_.empty() || op.kind == Op::kCreate) return create();
    Player& player = players_[op.which % players_.size()];
    switch (op.kind) {
      case Op::kAppend:
        return step({&player}, {chunk(op.amount)});
      case Op::kBatch:
        return batch(op.amount);
      case Op::kFork:
        return fork(player, op.amount % (player.tokens.size() + 1));
      case Op::kTruncate:
        return truncate(player, op.amount % (player.tokens.size() + 1));
      case Op::kDrop:
        RC_ASSERT(runner_.memory().drop(player.id).has_value());
        oracle_.expect(player.tokens, player.rows);
        players_.erase(players_.begin() + op.which % static_cast<ptrdiff_t>(players_.size()));
        return;
      case Op::kAbandon:
        return step({&player}, {chunk(op.amount)}, {}, true);
      case Op::kReject:
        return reject(player, op.amount);
      case Op::kOpen:
        return open(player, op.amount);
      case Op::kReopen:
        return reopen(player, op.amount);
      case Op::kKeep:
        RC_ASSERT(runner_.memory().keep(player.id).has_value());
        return;
      case Op::kEvict:
        return runner_.memory().evict(op.amount % 4);
      case Op::kSave:
        return save(player, op.amount);
      case Op::kCrash:
        return crash(op.which, op.amount);
      default:
        return;
    }
  }

  void check() {
    for (Player& player : players_) {
      // One more token proves that the state, not only the rows seen so far, is right.
      step({&player}, {1});
      const auto held = runner_.memory().tokens(player.id);
      RC_ASSERT(std::vector<TokenId>(held->begin(), held->end()) == player.tokens);
      oracle_.expect(player.tokens, player.rows);
      RC_ASSERT(runner_.memory().drop(player.id).has_value());
    }
    players_.clear();
    stop_tier(0);
    runner_.memory().evict(SIZE_MAX);
    RC_ASSERT(runner_.memory().pool().used_bytes() == 0U);
  }

  size_t evaluated() const { return evaluated_; }
  size_t reused() const { return reused_; }
  size_t refused() const { return refused_; }
  size_t recalled() const { return recalled_; }

 private:
  static constexpr size_t kMostTokens = 150;
  static constexpr size_t kMostPlayers = 8;

  struct Player {
    SequenceId id;
    std::vector<TokenId> tokens;
    std::vector<Row> rows;
  };

  // Mostly short chunks, sometimes longer than the reach of 32 rows.
  static size_t chunk(uint16_t amount) { return amount % 8 == 0 ? amount / 8 % 70 + 1 : amount / 8 % 6 + 1; }

  void create() {
    if (players_.size() < kMostPlayers) players_.push_back({runner_.memory().create(), {}, {}});
  }

  // Appends counts[i] new tokens to each player in one step; accepted[i] of them stay.
  void step(std::vector<Player*> players, std::vector<size_t> counts, std::vector<size_t> accepted = {},
            bool abandon = false) {
    std::vector<std::vector<TokenId>> tokens;
    std::vector<BatchEntry> entries;
    for (size_t i = 0; i < players.size(); ++i) {
      const size_t room = kMostTokens - std::min(kMostTokens, players[i]->tokens.size());
      const size_t count = std::max<size_t>(1, std::min(counts[i], room));
      tokens.push_back(some_tokens(count, runner_.model().vocabulary(), ++seed_));
      if (!accepted.empty()) accepted[i] = std::min(accepted[i], count);
    }
    for (size_t i = 0; i < players.size(); ++i) {
      entries.push_back({players[i]->id, tokens[i], accepted.empty() ? 0 : tokens[i].size() - accepted[i]});
    }
    const auto stepped = runner_.try_step(entries, accepted, abandon);
    if (!stepped) {
      RC_ASSERT(stepped.error().kind == ErrorKind::kOutOfBudget);
      ++refused_;
      return;
    }
    const std::vector<Row>& rows = *stepped;
    evaluated_ += rows.size();
    if (abandon) return;
    size_t first = 0;
    for (size_t i = 0; i < players.size(); ++i) {
      const size_t kept = accepted.empty() ? tokens[i].size() : accepted[i];
      players[i]->tokens.insert(players[i]->tokens.end(), tokens[i].begin(),
                                tokens[i].begin() + static_cast<ptrdiff_t>(kept));
      players[i]->rows.insert(players[i]->rows.end(), rows.begin() + static_cast<ptrdiff_t>(first),
                              rows.begin() + static_cast<ptrdiff_t>(first + kept));
      first += tokens[i].size();
    }
  }

  void batch(uint16_t amount) {
    std::vector<Player*> all;
    std::vector<size_t> counts;
    for (Player& player : players_) {
      all.push_back(&player);
      counts.push_back(chunk(static_cast<uint16_t>(amount * 31 + counts.size() * 977)));
    }
    step(all, counts);
  }

  void reject(Player& player, uint16_t amount) {
    const size_t count = chunk(amount);
    step({&player}, {count}, {count - (amount >> 4) % (count + 1)});
  }

  // Brings a player that memory cut to `held` tokens back to `position`: the same tokens, evaluated again.
  void recompute(Player& player, size_t held, size_t position) {
    RC_ASSERT(held <= position);
    player.tokens.resize(position);
    player.rows.resize(position);
    if (held == position) return;
    const auto missing = std::span<const TokenId>(player.tokens).subspan(held, position - held);
    const BatchEntry entry{player.id, missing, 0};
    const auto again = runner_.try_step({&entry, 1});
    if (!again) {
      RC_ASSERT(again.error().kind == ErrorKind::kOutOfBudget);
      ++refused_;
      player.tokens.resize(held);
      player.rows.resize(held);
      return;
    }
    for (size_t i = held; i < position; ++i) {
      if (!player.rows[i].empty()) RC_ASSERT(same_bits((*again)[i - held], player.rows[i]));
    }
  }

  // A prompt that leaves another sequence's tokens somewhere, and message ends inside it.
  std::vector<TokenId> make_prompt(const Player& source, uint16_t amount) {
    std::vector<TokenId> prompt = source.tokens;
    prompt.resize(amount % (source.tokens.size() + 1));
    const auto own = some_tokens(amount / 256 % 40 + 1, runner_.model().vocabulary(), ++seed_);
    prompt.insert(prompt.end(), own.begin(), own.end());
    return prompt;
  }

  void fill(Player& player, const std::vector<TokenId>& prompt, const memory::Opened& opened) {
    RC_ASSERT(opened.reused < prompt.size());
    RC_ASSERT(opened.reused <= opened.matched);
    RC_ASSERT(*runner_.memory().length(opened.sequence) == opened.reused);
    reused_ += opened.reused;
    std::vector<Row> known = std::move(player.rows);
    const size_t common =
        static_cast<size_t>(std::ranges::mismatch(player.tokens, prompt).in1 - player.tokens.begin());
    player.rows.assign(opened.reused, {});
    for (size_t i = 0; i < std::min(common, opened.reused); ++i) player.rows[i] = known[i];
    player.tokens.assign(prompt.begin(), prompt.begin() + static_cast<ptrdiff_t>(opened.reused));
    const auto rest = std::span<const TokenId>(prompt).subspan(opened.reused);
    const BatchEntry entry{player.id, rest, 0};
    auto rows = runner_.try_step({&entry, 1});
    if (!rows) {
      RC_ASSERT(rows.error().kind == ErrorKind::kOutOfBudget);
      ++refused_;
      return;
    }
    evaluated_ += rows->size();
    player.tokens = prompt;
    for (Row& row : *rows) player.rows.push_back(std::move(row));
  }

  void open(const Player& source, uint16_t amount) {
    if (players_.size() >= kMostPlayers) return;
    const std::vector<TokenId> prompt = make_prompt(source, amount);
    const size_t boundaries[] = {prompt.size() / 3, prompt.size() / 2};
    recall(prompt);
    const auto opened = runner_.memory().open(prompt, boundaries);
    RC_ASSERT(opened.has_value());
    Player player{opened->sequence, source.tokens, source.rows};
    fill(player, prompt, *opened);
    players_.push_back(std::move(player));
  }

  void reopen(Player& player, uint16_t amount) {
    const std::vector<TokenId> prompt = make_prompt(player, amount);
    const size_t boundaries[] = {prompt.size() / 4};
    recall(prompt);
    const auto opened = runner_.memory().reopen(player.id, prompt, boundaries);
    RC_ASSERT(opened.has_value());
    fill(player, prompt, *opened);
  }

  void truncate(Player& player, size_t position) {
    const size_t reach = *runner_.memory().reach(player.id);
    const auto held = runner_.memory().truncate(player.id, position);
    RC_ASSERT(held.has_value());
    if (position >= reach) RC_ASSERT(*held == position);
    recompute(player, *held, position);
  }

  void fork(const Player& parent, size_t position) {
    if (players_.size() >= kMostPlayers) return;
    const size_t used = runner_.memory().pool().used_bytes();
    const auto id = runner_.memory().fork(parent.id, position);
    RC_ASSERT(id.has_value());
    RC_ASSERT(runner_.memory().pool().used_bytes() <= used);  // the tier may let go of what it has written
    Player child{*id, parent.tokens, parent.rows};
    recompute(child, *runner_.memory().length(*id), position);
    players_.push_back(std::move(child));
  }

  void start_tier() {
    tiers_.emplace(runner_.memory(), stores::Fingerprint{});
    tiers_->add(disk_->open());
  }

  // Without time to write what waits the store is interrupted wherever it is.
  void stop_tier(int milliseconds) {
    if (!tiers_) return;
    for (const auto& tier : tiers_->all()) tier->stop(std::chrono::milliseconds(milliseconds));
    tiers_.reset();
  }

  void recall(std::span<const TokenId> prompt) {
    if (tiers_) recalled_ += tiers_->recall(prompt, {}, std::chrono::seconds(30));
  }

  // Memory and tier go at once, the disk is left as a crash leaves it. Afterwards each player is taken up
  // again from a file that it was saved to or from what the tier still has.
  void crash(uint8_t which, uint16_t amount) {
    if (!disk_) return;
    std::vector<std::vector<std::byte>> saved;
    for (const Player& player : players_) saved.push_back(saved_bytes(player));
    players_.swap(crashed_);
    players_.clear();
    stop_tier(amount % 3 == 0 ? 30000 : amount % 3);
    runner_.restart();
    if (amount % 2 == 0) disk_->crash(amount / 6);
    start_tier();
    for (size_t i = 0; i < crashed_.size(); ++i) {
      Player& player = crashed_[i];
      if ((which >> i & 1) != 0) {
        restore(player, saved[i]);
      } else {
        resume(player);
      }
      players_.push_back(std::move(player));
    }
    crashed_.clear();
  }

  void resume(Player& player) {
    if (player.tokens.empty()) {
      player.id = runner_.memory().create();
      return;
    }
    recall(player.tokens);
    const auto opened = runner_.memory().open(player.tokens);
    RC_ASSERT(opened.has_value());
    player.id = opened->sequence;
    reused_ += opened->reused;
    recompute(player, opened->reused, player.tokens.size());
  }

  void restore(Player& player, const std::vector<std::byte>& bytes) {
    const auto reader = stores::ContainerReader::open(bytes, "saved");
    RC_ASSERT(reader.has_value());
    const auto restored = runner_.memory().restore(*reader);
    if (!restored) {
      RC_ASSERT(restored.error().kind == ErrorKind::kOutOfBudget);
      ++refused_;
      player = {runner_.memory().create(), {}, {}};
      return;
    }
    RC_ASSERT(restored->tokens == player.tokens);
    RC_ASSERT(restored->restored == player.tokens.size());
    player.id = restored->sequence;
  }

  std::vector<std::byte> saved_bytes(const Player& player) {
    std::vector<std::byte> bytes;
    stores::ContainerWriter writer(
        [&](std::span<const std::byte> part) -> Status {
          bytes.insert(bytes.end(), part.begin(), part.end());
          return {};
        },
        stores::ObjectKind::kSession, {});
    RC_ASSERT(runner_.memory().save(player.id, writer).has_value());
    RC_ASSERT(writer.finish().has_value());
    return bytes;
  }

  // Saves a player and takes it up again from the bytes, now and then after everything kept was evicted.
  void save(Player& player, uint16_t amount) {
    const std::vector<std::byte> bytes = saved_bytes(player);
    if (amount % 2 == 0) RC_ASSERT(runner_.memory().drop(player.id).has_value());
    if (amount % 4 == 0) runner_.memory().evict(SIZE_MAX);
    const auto reader = stores::ContainerReader::open(bytes, "saved");
    RC_ASSERT(reader.has_value());
    const auto restored = runner_.memory().restore(*reader);
    if (!restored) {
      RC_ASSERT(restored.error().kind == ErrorKind::kOutOfBudget);
      ++refused_;
      if (amount % 2 == 0) player = {runner_.memory().create(), {}, {}};
      return;
    }
    RC_ASSERT(restored->tokens == player.tokens);
    RC_ASSERT(restored->restored == player.tokens.size());
    if (amount % 2 != 0) RC_ASSERT(runner_.memory().drop(player.id).has_value());
    player.id = restored->sequence;
  }

  std::optional<CrashingDisk> disk_;
  Runner runner_;
  std::optional<engine::Tiers> tiers_;
  Oracle oracle_;
  std::vector<Player> players_;
  std::vector<Player> crashed_;
  uint64_t seed_ = 0;
  size_t evaluated_ = 0;
  size_t reused_ = 0;
  size_t refused_ = 0;
  size_t recalled_ = 0;
};

// Now and then so little memory that checkpoints are evicted and steps refused.
memory::MemoryOptions some_options(const model::Model& model, bool half, bool tight, bool spaced) {
  memory::MemoryOptions options{size_t{1} << 30, 1, half ? memory::KvTypes{} : kFloatKv};
  options.first_checkpoint = spaced ? 12 : 0;
  options.poison = true;
  if (tight) {
    const memory::MemoryLayout layout(model.state_specs(), options.kv);
    options.budget_bytes = 10 * layout.state_bytes() + 12 * layout.row_page_bytes();
    for (const memory::KvGroup& group : layout.groups()) options.budget_bytes += 8 * group.page_bytes;
  }
  return options;
}

// OXBOW_MINUTES: go on with other seeds for that long for each model; each round prints its seed.
bool time_is_left(std::chrono::steady_clock::time_point start) {
  const char* minutes = std::getenv("OXBOW_MINUTES");
  if (minutes == nullptr) return false;
  return std::chrono::steady_clock::now() - start < std::chrono::minutes(std::atoi(minutes));
}

// Random programs of all models together. A new architecture adds its paths, not its time.
constexpr size_t kPrograms = 1200;
constexpr size_t kFewestPrograms = 16;  // of one model

// OXBOW_CASES: random programs of each model instead. A failure prints the seed that repeats it through
// RC_PARAMS.
rc::detail::TestParams parameters(const std::string& model, size_t models) {
  rc::detail::TestParams params = rc::detail::configuration().testParams;
  const char* cases = std::getenv("OXBOW_CASES");
  params.maxSuccess = cases != nullptr
                          ? std::atoi(cases)
                          : static_cast<int>(std::max(kFewestPrograms, ceil_div(kPrograms, models)));
  params.seed += std::hash<std::string>()(model);
  return params;
}

// Each tiny model with matrices in f32 and in 8-bit blocks.
struct Case {
  std::string model;
  TinyWeights weights;

  std::string name() const { return model + (weights == TinyWeights::kFloat ? ".F32" : ".Q8_0"); }
};

std::ostream& operator<<(std::ostream& out, const Case& tested) {
  return out << tested.name();
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const std::string& model : tiny_model_names()) {
    for (const TinyWeights weights : {TinyWeights::kFloat, TinyWeights::kBlocks}) {
      cases.push_back({model, weights});
    }
  }
  return cases;
}

class SameBits : public ::testing::TestWithParam<Case> {
 protected:
  std::shared_ptr<const model::Model> load() const { return load_tiny(GetParam().model, GetParam().weights); }
};

TEST_P(SameBits, WhateverTheOperations) {
  const auto model = load();
  size_t cases = 0;
  size_t operations = 0;
  size_t evaluated = 0;
  size_t reused = 0;
  size_t refused = 0;
  size_t recalled = 0;
  const std::string name = GetParam().name();
  rc::detail::TestParams params = parameters(name, all_cases().size());
  const auto start = std::chrono::steady_clock::now();
  do {
    std::printf("%s: RC_PARAMS=seed=%llu\n", name.c_str(), static_cast<unsigned long long>(params.seed));
    const auto result = rc::detail::checkTestable(
        [&] {
          const auto threads = *rc::gen::inRange(1, 3);
          const auto ops =
              *rc::gen::scale(0.8, rc::gen::container<std::vector<Op>>(rc::gen::arbitrary<Op>()));
          const bool half = *rc::gen::arbitrary<bool>();
          const bool tight = *rc::gen::inRange(0, 4) == 0;
          const bool spaced = *rc::gen::arbitrary<bool>();
          const bool disk = *rc::gen::inRange(0, 4) == 0;
          Players players(model, threads, some_options(*model, half, tight, spaced), disk);
          for (const Op& op : ops) players.play(op);
          players.check();
          ++cases;
          operations += ops.size();
          evaluated += players.evaluated();
          reused += players.reused();
          refused += players.refused();
          recalled += players.recalled();
        },
        rc::detail::TestMetadata{"same bits", name}, params);
    std::ostringstream report;
    rc::detail::printResultMessage(result, report);
    rc::detail::SuccessResult success;
    EXPECT_TRUE(result.match(success)) << report.str();
    ++params.seed;
  } while (!HasFailure() && time_is_left(start));
  std::printf(
      "%s: %zu random cases, %zu operations, %zu tokens evaluated, %zu reused, %zu steps refused, %zu "
      "recalled\n",
      name.c_str(), cases, operations, evaluated, reused, refused, recalled);
}

TEST_P(SameBits, ForEveryChunkLengthThreadCountAndInstructionSet) {
  const auto model = load();
  const std::vector<TokenId> tokens = some_tokens(100, model->vocabulary(), 7);
  const std::vector<Row> reference = Runner(model, 1).run(tokens);
  const std::string_view best = kernels::kernels().name;
  for (const kernels::KernelTable* table : kernels::available_kernels()) {
    ASSERT_TRUE(kernels::use_kernels(table->name));
    for (int threads : {1, 2, 3}) {
      for (size_t chunk : {1, 7, 64, 100}) {
        const bool slow = table->name == "portable";  // a short pass says enough
        if (slow && (chunk != 7 || threads != 1)) continue;
        const std::vector<Row> rows =
            Runner(model, threads).run(std::span(tokens).first(slow ? 20 : 100), chunk);
        for (size_t i = 0; i < rows.size(); ++i) {
          ASSERT_TRUE(same_bits(rows[i], reference[i]))
              << table->name << ", " << threads << " threads, chunks of " << chunk << ", token " << i;
        }
      }
    }
  }
  kernels::use_kernels(best);
}

INSTANTIATE_TEST_SUITE_P(Models, SameBits, ::testing::ValuesIn(all_cases()),
                         [](const auto& tested) { return test_name(tested.param.name()); });

}  // namespace
}  // namespace oxbow::testing
