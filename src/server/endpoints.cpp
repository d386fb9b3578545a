#include "server/service.h"

namespace oxbow::server {

void add_endpoints(Router& router, const ServiceSource& source) {
  add_chat_endpoints(router, source);
  add_completion_endpoints(router, source);
  add_model_endpoints(router, source);
  add_token_endpoints(router, source);
  add_slot_endpoints(router, source);
}

}  // namespace oxbow::server
