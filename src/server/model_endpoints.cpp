#include "server/service.h"

namespace oxbow::server {
namespace {

Json describe(const Service& service) {
  const model::Model& model = service.scheduler->model();
  const size_t context = service.scheduler->options().context_tokens;
  Json json;
  json["id"] = service.options.model_id;
  json["object"] = "model";
  json["created"] = service.created;
  json["owned_by"] = "oxbow";
  json["max_model_len"] = context;
  json["meta"] = {{"n_ctx", context},
                  {"n_ctx_train", model.context_length()},
                  {"n_params", model.parameter_count()},
                  {"n_vocab", service.tokenizer->vocabulary().size()},
                  {"architecture", model.architecture()}};
  return json;
}

}  // namespace

void add_model_endpoints(Router& router, const ServiceSource& source) {
  constexpr RouteOptions kOptions{.needs_model = true};
  router.add(
      "GET", "/v1/models",
      [source](const std::shared_ptr<Exchange>& exchange) {
        exchange->respond(
            {.body = to_text({{"object", "list"}, {"data", Json::array({describe(*source())})}})});
      },
      kOptions);
  router.add(
      "GET", "/v1/models/{id*}",
      [source](const std::shared_ptr<Exchange>& exchange) {
        const auto service = source();
        if (exchange->request().parameter("id") == service->options.model_id) {
          return exchange->respond({.body = to_text(describe(*service))});
        }
        exchange->respond(
            error_response({.status = 404,
                            .code = "model_not_found",
                            .message = "there is no such model; this server has " + service->options.model_id,
                            .parameter = "model"}));
      },
      kOptions);
}

}  // namespace oxbow::server
