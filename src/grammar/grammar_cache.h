#pragma once
// Grammars of earlier requests: the same schema comes again and again, and finds its masks computed.

#include <functional>
#include <list>
#include <mutex>
#include <string>

#include "grammar/grammar.h"

namespace oxbow::grammar {

// The grammars that were used last, at most `capacity`, of one vocabulary. Any thread.
class GrammarCache {
 public:
  explicit GrammarCache(size_t capacity = 8) : capacity_(capacity) {}

  // The grammar of a key, which must tell all apart that `make` depends on (what kind, its text, the
  // preamble). Makes it when it is not kept, outside of the lock; errors are not kept.
  Result<Grammar::Pointer> get(const std::string& key, const std::function<Result<Grammar::Pointer>()>& make);

 private:
  struct Entry {
    std::string key;
    Grammar::Pointer grammar;
  };
  Grammar::Pointer find(const std::string& key);

  const size_t capacity_;
  std::mutex mutex_;
  std::list<Entry> entries_;  // the one used last first
};

}  // namespace oxbow::grammar
