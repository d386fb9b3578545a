#pragma once
// An answer that another thread will give.

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "base/check.h"

namespace oxbow::stores {

// The side that asks: one thread at a time. Destroying it says that nobody waits any more.
template <typename T>
class Pending {
 public:
  // The side that answers; from any thread, once. Copies speak for the same answer.
  class Answer {
   public:
    void give(T value) const {
      {
        const std::lock_guard lock(state_->mutex);
        state_->value.emplace(std::move(value));
      }
      state_->given.notify_all();
    }

    // Nobody waits any more.
    bool abandoned() const {
      const std::lock_guard lock(state_->mutex);
      return state_->abandoned;
    }

   private:
    friend class Pending;
    struct State {
      std::mutex mutex;
      std::condition_variable given;
      std::optional<T> value;
      bool abandoned = false;
    };
    explicit Answer(std::shared_ptr<State> state) : state_(std::move(state)) {}

    std::shared_ptr<State> state_;
  };

  Pending() : state_(std::make_shared<State>()) {}
  Pending(Pending&&) noexcept = default;
  Pending& operator=(Pending&& other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~Pending() {
    if (!state_) return;
    const std::lock_guard lock(state_->mutex);
    state_->abandoned = true;
  }

  Answer answer() const { return Answer(state_); }

  bool ready() const { return wait_for(std::chrono::milliseconds(0)); }

  // Waits for the answer no longer than that; whether it is there.
  bool wait_for(std::chrono::milliseconds patience) const {
    std::unique_lock lock(state_->mutex);
    return state_->given.wait_for(lock, patience, [this] { return state_->value.has_value(); });
  }

  // The answer; ready() must be true. Once.
  T take() {
    const std::lock_guard lock(state_->mutex);
    OXBOW_CHECK(state_->value.has_value());
    T value = std::move(*state_->value);
    state_->value.reset();
    return value;
  }

 private:
  using State = typename Answer::State;
  std::shared_ptr<State> state_;
};

}  // namespace oxbow::stores
