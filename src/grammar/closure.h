#pragma once
// What can be waited for without consuming anything.

#include "grammar/automaton.h"

namespace oxbow::grammar {

// Collects the threads that instructions lead to, until take() ends the collection. Reused, so that its
// memory is.
class Automaton::Closure {
 public:
  explicit Closure(Automaton& automaton) : automaton_(automaton) {}

  void add(Address at, StackId stack);
  // What follows when everything above the frame on top of a stack has ended.
  void resume(StackId stack);
  // The configuration of all that was added.
  ConfigurationId take();

 private:
  // floor: the least stack depth on the way here. A round of a repetition whose frame lies above it has
  // consumed nothing, and going round again would change nothing.
  struct Visit {
    Address at;
    StackId stack;
    uint32_t floor;
    friend bool operator==(const Visit&, const Visit&) = default;
  };
  void run();
  void visit(const Visit& visit);
  void leave(const Visit& visit);
  bool is_new(const Visit& visit);
  void clear_seen();

  Automaton& automaton_;
  std::vector<Visit> open_;
  std::vector<Visit> seen_;      // in order of arrival
  std::vector<uint32_t> slots_;  // open addressing: index into seen_ plus one
  std::vector<Thread> threads_;
  size_t steps_ = 0;
  bool accepts_ = false;
};

}  // namespace oxbow::grammar
