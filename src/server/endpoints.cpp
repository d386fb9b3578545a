#include "server/service.h"

namespace oxbow::server {

void add_endpoints(Router& router, const ServiceSource& source) {
  add_model_endpoints(router, source);
}

}  // namespace oxbow::server
