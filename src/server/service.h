#pragma once
// The model that is served, with all that its endpoints need.

#include <functional>
#include <memory>
#include <string>

#include "engine/scheduler.h"
#include "server/json_body.h"
#include "server/router.h"
#include "server/structures.h"
#include "text/chat_format.h"

namespace oxbow::server {

struct ServiceOptions {
  std::string model_id;        // what clients call the model: the alias, or the file's name
  std::string model_path;      // for /props
  std::string slot_save_path;  // a folder; empty: slots cannot be saved
  // Clients with different API keys find each other's cached prefixes. Salts of requests still count.
  bool cache_shared = false;
  std::string version;  // of the program
};

// Built when the model is loaded. Immutable, any thread; the scheduler has its own thread.
struct Service {
  ServiceOptions options;
  std::shared_ptr<const text::Tokenizer> tokenizer;
  text::ChatFormat format;           // keeps a reference to the tokenizer
  engine::SamplerSettings sampling;  // what requests that say nothing get
  std::unique_ptr<engine::Scheduler> scheduler;
  int64_t created = 0;                     // seconds since 1970
  std::string fingerprint;                 // "fp_...": of the model and its numeric settings
  std::unique_ptr<Structures> structures;  // has a lock of its own
};

// Null while the model loads.
using ServiceSource = std::function<std::shared_ptr<const Service>()>;

// All endpoints that need the model (docs/server.md). Their routes are refused until the model is
// loaded, so the source is asked only afterwards.
void add_endpoints(Router& router, const ServiceSource& source);

// The parts of add_endpoints().
void add_chat_endpoints(Router& router, const ServiceSource& source);
void add_completion_endpoints(Router& router, const ServiceSource& source);
void add_model_endpoints(Router& router, const ServiceSource& source);
void add_token_endpoints(Router& router, const ServiceSource& source);
void add_slot_endpoints(Router& router, const ServiceSource& source);

}  // namespace oxbow::server
