#include <algorithm>
#include <charconv>

#include "server/fields.h"
#include "server/generation_request.h"
#include "server/service.h"

namespace oxbow::server {
namespace {

Json describe(const Service& service, const engine::SlotState& slot) {
  constexpr const char* kPhaseNames[] = {"queued", "prompt", "decode"};
  return {{"id", slot.id},
          {"id_task", slot.request},
          {"n_ctx", service.scheduler->options().context_tokens},
          {"speculative", false},
          {"is_processing", slot.is_processing},
          {"phase", slot.is_processing ? kPhaseNames[static_cast<size_t>(slot.phase)] : "idle"},
          {"n_prompt_tokens", slot.prompt_tokens},
          {"n_prompt_tokens_processed", slot.prompt_done},
          {"n_prompt_tokens_cached", slot.reused},
          {"n_decoded", slot.generated}};
}

void list(const Service& service, Exchange& exchange) {
  const engine::Statistics statistics = service.scheduler->statistics();
  const bool all_busy =
      std::ranges::all_of(statistics.slots, [](const auto& slot) { return slot.is_processing; });
  if (exchange.request().query_value("fail_on_no_slot").value_or("0") == "1" && all_busy) {
    return exchange.respond(error_response(
        {.status = 503, .code = "no_slot", .message = "all slots are in use", .retry_after = 1}));
  }
  Json slots = Json::array();
  for (const engine::SlotState& slot : statistics.slots) slots.push_back(describe(service, slot));
  exchange.respond({.body = to_text(slots)});
}

// A plain file name, so that nobody leaves the folder.
Checked<std::string> file_path(const Service& service, const Request& request) {
  if (service.options.slot_save_path.empty()) {
    return tl::unexpected(
        ErrorAnswer{.status = 501,
                    .code = "not_supported",
                    .message = "slots are not saved: start the server with --slot-save-path"});
  }
  const auto body = parse_body(request.body);
  if (!body) return tl::unexpected(body.error());
  Fields fields(*body);
  std::string name;
  if (!fields.read("filename", name, 200) && !fields.error()) fields.missing("filename");
  const bool plain = !name.empty() && name[0] != '.' && std::ranges::none_of(name, [](unsigned char c) {
    return c == '/' || c == '\\' || c < 0x20 || c == 0x7f;
  });
  if (!plain && !fields.error())
    fields.fail(
        invalid_value("filename", "'filename' must be a name without a path and without a first dot"));
  if (fields.error()) return tl::unexpected(*fields.error());
  return service.options.slot_save_path + "/" + name;
}

ErrorAnswer slot_error(const Error& error) {
  switch (error.kind) {
    case ErrorKind::kNotFound:
      return {.status = 404, .code = "not_found", .message = error.message};
    case ErrorKind::kInvalidState:
      return {.status = 409, .code = "slot_in_use", .message = error.message, .should_retry = false};
    case ErrorKind::kInvalidInput:
      return {.code = "invalid_value", .message = error.message, .parameter = "filename"};
    default:
      return {.status = 500, .code = "internal_error", .message = error.message, .should_retry = false};
  }
}

engine::Scheduler::SlotCallback answer(std::shared_ptr<Exchange> exchange, size_t slot, std::string action,
                                       std::string file) {
  return [exchange = std::move(exchange), slot, action = std::move(action),
          file = std::move(file)](Result<engine::SlotReport> report) {
    if (!report) return exchange->respond(error_response(slot_error(report.error())));
    Json json = {{"id_slot", slot}};
    if (action == "erase") {
      json["n_erased"] = report->tokens;
      return exchange->respond({.body = to_text(json)});
    }
    const bool saved = action == "save";
    json["filename"] = file;
    json[saved ? "n_saved" : "n_restored"] = report->tokens;
    json["n_reusable"] = report->reusable;
    if (!report->reason.empty()) json["reason"] = report->reason;
    json[saved ? "n_written" : "n_read"] = report->file_bytes;
    json["timings"] = {{saved ? "save_ms" : "restore_ms", report->seconds * 1e3}};
    exchange->respond({.body = to_text(json)});
  };
}

void act(const std::shared_ptr<const Service>& service, const std::shared_ptr<Exchange>& exchange) {
  const Request& request = exchange->request();
  const std::string_view text = request.parameter("id");
  size_t slot = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), slot);
  const size_t slots = service->scheduler->options().parallel;
  if (error != std::errc() || end != text.data() + text.size() || slot >= slots) {
    return exchange->respond(error_response(
        invalid_value("id", fmt::format("there is no such slot; expected 0 to {}", slots - 1))));
  }
  const std::string action = request.query_value("action").value_or("");
  const std::string partition = partition_of(service->options.cache_shared ? "" : request.client, "");
  if (action == "erase")
    return service->scheduler->erase(slot, partition, answer(exchange, slot, action, {}));
  if (action != "save" && action != "restore")
    return exchange->respond(
        error_response(invalid_value("action", "'action' must be save, restore or erase")));
  const auto path = file_path(*service, request);
  if (!path) return exchange->respond(error_response(path.error()));
  const std::string name = path->substr(service->options.slot_save_path.size() + 1);
  if (action == "save") {
    service->scheduler->save(slot, *path, partition, answer(exchange, slot, action, name));
  } else {
    service->scheduler->restore(slot, *path, partition, answer(exchange, slot, action, name));
  }
}

void props(const Service& service, Exchange& exchange) {
  const engine::SamplerSettings& sampling = service.sampling;
  exchange.respond({.body = to_text({{"default_generation_settings",
                                      {{"n_ctx", service.scheduler->options().context_tokens},
                                       {"params",
                                        {{"temperature", sampling.temperature},
                                         {"top_k", sampling.top_k},
                                         {"top_p", sampling.top_p},
                                         {"min_p", sampling.min_p}}}}},
                                     {"total_slots", service.scheduler->options().parallel},
                                     {"model_alias", service.options.model_id},
                                     {"model_path", service.options.model_path},
                                     {"modalities", {{"vision", false}, {"audio", false}}},
                                     {"chat_template", service.format.source()},
                                     {"build_info", "oxbow " + service.options.version}})});
}

}  // namespace

void add_slot_endpoints(Router& router, const ServiceSource& source) {
  constexpr RouteOptions kOptions{.needs_model = true};
  router.add(
      "GET", "/slots", [source](const std::shared_ptr<Exchange>& exchange) { list(*source(), *exchange); },
      kOptions);
  router.add(
      "POST", "/slots/{id}", [source](const std::shared_ptr<Exchange>& exchange) { act(source(), exchange); },
      kOptions);
  router.add(
      "GET", "/props", [source](const std::shared_ptr<Exchange>& exchange) { props(*source(), *exchange); },
      kOptions);
}

}  // namespace oxbow::server
