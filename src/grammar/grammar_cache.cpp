#include "grammar/grammar_cache.h"

#include <algorithm>

namespace oxbow::grammar {

Grammar::Pointer GrammarCache::find(const std::string& key) {
  const auto found = std::ranges::find(entries_, key, &Entry::key);
  if (found == entries_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found);
  return entries_.front().grammar;
}

Result<Grammar::Pointer> GrammarCache::get(const std::string& key,
                                           const std::function<Result<Grammar::Pointer>()>& make) {
  {
    const std::lock_guard lock(mutex_);
    if (auto kept = find(key)) return kept;
  }
  OXBOW_ASSIGN(Grammar::Pointer made, make());
  const std::lock_guard lock(mutex_);
  if (auto kept = find(key)) return kept;  // another thread was faster
  entries_.push_front({key, made});
  if (entries_.size() > capacity_) entries_.pop_back();
  return made;
}

}  // namespace oxbow::grammar
