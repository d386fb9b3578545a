#pragma once
// From the parts of answers to the client: as one body or as a stream of events.

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "server/answer_shape.h"
#include "server/http.h"

namespace oxbow::server {

struct DeliveryOptions {
  bool stream = false;
  bool include_usage = false;  // a last chunk with it
  bool return_progress = false;
  bool timings_per_token = false;
  size_t choices = 1;  // of all prompts together
  size_t prompts = 1;
  std::vector<std::string> echo;  // text in front of each choice; empty: none
};

// One exchange and its answers. Any thread; calls after the end do nothing.
class Delivery {
 public:
  Delivery(std::shared_ptr<Exchange> exchange, std::unique_ptr<const AnswerShape> shape,
           DeliveryOptions options);

  // Calls `submit`, which hands the prompts to the scheduler; nothing of what they do meanwhile goes out. An
  // error that it gives is the answer, with its status; else a stream's head goes out.
  void admit(const std::function<std::optional<ErrorAnswer>()>& submit);
  void progress(size_t done, size_t total, size_t cached, double seconds);
  // False when nobody wants more.
  bool add(size_t index, const Delta& delta, const Usage* so_far = nullptr);
  void close(size_t index, ChoiceEnd end, std::string stop_text = {});
  // One prompt's numbers, after its choices are closed. After the last one the answer is complete.
  void complete(const Usage& usage);
  void fail(const ErrorAnswer& error);

  bool wants_timings() const { return options_.stream && options_.timings_per_token; }
  bool wants_progress() const { return options_.stream && options_.return_progress; }

 private:
  void open_locked();
  void send(const Json& json);
  void finish();

  const std::shared_ptr<Exchange> exchange_;
  const std::unique_ptr<const AnswerShape> shape_;
  const DeliveryOptions options_;
  std::mutex mutex_;
  bool opened_ = false, ended_ = false;
  size_t prompts_left_;
  std::vector<Choice> choices_;
  Usage usage_;
};

}  // namespace oxbow::server
