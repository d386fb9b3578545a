#include "grammar/constraint.h"

#include <gtest/gtest.h>

#include <thread>

#include "grammar/grammar_cache.h"
#include "grammar/grammar_support.h"

namespace oxbow::grammar {
namespace {

using namespace testing;

TEST(Constraint, ACopyGoesOnByItself) {
  Constraint one(gbnf("root ::= \"a\" (\"b\" | \"c\") \"!\""));
  ASSERT_TRUE(one.accept('a'));
  Constraint other = one;
  ASSERT_TRUE(one.accept('b'));
  EXPECT_FALSE(one.accept('c'));
  ASSERT_TRUE(other.accept('c'));
  EXPECT_EQ(one.mask(), other.mask());
  ASSERT_TRUE(one.accept('!'));
  EXPECT_TRUE(one.is_complete());
  EXPECT_FALSE(other.is_complete());
  EXPECT_FALSE(other.accept(256));
  EXPECT_TRUE(one.accept(256));
  EXPECT_FALSE(one.accept('!'));
}

TEST(Constraint, RefusedTokensChangeNothing) {
  Constraint constraint(gbnf("root ::= [0-9]+"));
  for (const TokenId id : {-1, 256, 257, 1'000'000, static_cast<int>('a')})
    EXPECT_FALSE(constraint.accept(id));
  ASSERT_TRUE(constraint.accept('7'));
  EXPECT_TRUE(constraint.may_end());
  EXPECT_FALSE(constraint.is_complete());
}

// What is kept grows until the sequence moves to a fresh automaton; nothing that can be seen depends on it.
TEST(Constraint, MasksDoNotDependOnWhatIsKept) {
  const char* source =
      "root ::= v\nv ::= \"[\" (v (\",\" v)*)? \"]\" | \"{\" [^}]{3,90000} v \"}\" | [a-z]{1,50000}";
  const auto warm = gbnf(source);
  std::mt19937 random(21);
  for (int round = 0; round < 3; ++round) {
    Constraint used(warm), fresh(gbnf(source));
    const auto first = warm->automaton();
    for (int step = 0; step < 4000; ++step) {
      ASSERT_EQ(used.mask(), fresh.mask()) << step;
      const auto ids = allowed(used.mask());
      TokenId pick = ids[random() % ids.size()];
      if (used.mask().allows('[') && random() % 4 != 0) pick = '[';
      if (pick == 256) break;
      ASSERT_TRUE(used.accept(pick));
      ASSERT_TRUE(fresh.accept(pick));
      if (used.is_complete()) break;
    }
  }
}

TEST(Constraint, ThreadsShareAGrammar) {
  const auto grammar = *Grammar::any_json_object(model().vocabulary);
  std::vector<std::thread> threads;
  std::vector<std::string> texts(4);
  for (size_t i = 0; i < texts.size(); ++i) {
    threads.emplace_back([&, i] {
      for (unsigned seed = 0; seed < 20; ++seed) {
        std::mt19937 random(seed);
        texts[i] += random_text(grammar, random, 40);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (const std::string& text : texts) EXPECT_EQ(text, texts[0]);
}

TEST(GrammarCache, KeepsTheGrammarsUsedLast) {
  GrammarCache cache(2);
  int made = 0;
  const auto get = [&](const std::string& text) {
    return *cache.get(text, [&] {
      ++made;
      return Grammar::from_gbnf("root ::= \"" + text + "\"", model().vocabulary);
    });
  };
  const auto a = get("a");
  get("b");
  EXPECT_EQ(get("a"), a);
  get("c");  // instead of b
  EXPECT_EQ(get("a"), a);
  EXPECT_EQ(made, 3);
  get("b");
  EXPECT_EQ(made, 4);
  EXPECT_FALSE(cache.get("x", [] { return Grammar::from_gbnf("x", model().vocabulary); }));
}

}  // namespace
}  // namespace oxbow::grammar
