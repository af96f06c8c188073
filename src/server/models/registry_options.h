// How a server's models are loaded, and how long they stay.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "api/loaded_model.h"
#include "realizar/options.h"
#include "realizar/result.h"
#include "server/models/request_defaults.h"

namespace realizar::server {

class PrefixKeeper;

struct RegistryOptions {
  LoadOptions load;
  uint32_t max_queue = 256;                             // requests that wait for each model
  bool strict_names = false;                            // a model that is alone is not asked for by any other name
  uint64_t memory_bytes = 0;                            // for weights and caches of all models; 0: no bound
  std::function<uint64_t()> n_answer_bytes = {};        // that count with them; null: none do
  uint32_t max_loaded = 0;                              // models that are loaded at once; 0: no bound
  std::optional<std::chrono::milliseconds> keep_alive;  // of every model when it is loaded
  bool autoload = true;                                 // a request for a model that is not loaded loads it
  bool preload = true;                                  // it is ready when one is loaded, and not before
  PrefixKeeper* prefixes = nullptr;                     // over restarts; must outlive all models; null: none
  bool hash_weights = false;                            // also where no prefixes are kept
  uint32_t retry_ms = 5000;                             // a model that could not be loaded is not tried again before
  uint32_t stop_timeout_ms = 5000;                      // for loads to end when the registry does
  std::function<Result<std::unique_ptr<LoadedModel>>(const std::string&, const LoadOptions&)> load_model =
      LoadedModel::load;
  // The memory that a model will take. Where it cannot be told, the files' size counts, and loading says why.
  std::function<Result<uint64_t>(const std::string&, const LoadOptions&)> needed_bytes = LoadedModel::needed_bytes;
  // Changes every model when it has been loaded, before anyone has it. Any thread.
  std::function<Status(LoadedModel&)> adapt = {};
  std::shared_ptr<const RequestDefaults> defaults = std::make_shared<RequestDefaults>();
  std::function<void()> on_progress;                   // a stream of some model has news; any thread
  std::function<void(std::function<void()>)> post_io;  // runs a task on the I/O thread; any thread
};

}  // namespace realizar::server
