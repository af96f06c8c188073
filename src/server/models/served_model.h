// A model that can answer. Lives as long as a request holds it; then its prefixes are kept, if requested.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "api/loaded_model.h"
#include "engine/engine_thread.h"
#include "server/models/model_serving.h"
#include "server/models/model_source.h"
#include "text/output/output_format.h"

namespace realizar::engine {
class BlockEvents;
}

namespace realizar::server {

struct ServedModel {
  ServedModel() = default;
  ~ServedModel() { close(); }
  ServedModel(const ServedModel&) = delete;
  ServedModel& operator=(const ServedModel&) = delete;

  std::string id;
  std::shared_ptr<LoadedModel> loaded;
  std::shared_ptr<engine::BlockEvents> block_events;      // null: events are not published
  std::function<void(const ServedModel&)> keep_prefixes;  // called after the engine has ended; null: not kept
  std::shared_ptr<const StoredTexts> texts;               // null: none
  text::OutputFormat output_format;
  std::shared_ptr<const RequestDefaults> defaults = std::make_shared<RequestDefaults>();
  std::shared_ptr<engine::EngineThread> thread;  // last: it must end before the objects that it uses

  // Ends its engine's thread and keeps its prefixes.
  void close() {
    thread.reset();
    if (const auto keep = std::exchange(keep_prefixes, {}); keep && loaded != nullptr) keep(*this);
  }
  const text::Tokenizer& tokenizer() const { return *loaded->tokenizer; }
  uint64_t n_bytes() const { return loaded->info.weight_bytes + loaded->info.kv_bytes + loaded->list_bytes; }
};
using ServedModelPtr = std::shared_ptr<ServedModel>;

}  // namespace realizar::server
