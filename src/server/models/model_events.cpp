#include "server/models/model_events.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace realizar::server {

Json shares_json(const FileShares& files) {
  Json json = Json::object();
  for (const auto& [file, share] : files) json[file] = {{"done", share.n_done}, {"total", share.n_bytes}};
  return json;
}

void ModelEvents::add(const ModelChange& change) {
  Json json{{"model", change.model}, {"event", change.event}};
  if (change.status[0] != '\0') json["data"] = {{"status", change.status}};
  if (change.progress) {
    json["data"]["progress"] = {{"stages", {"text_model"}}, {"current", "text_model"}, {"value", *change.progress}};
  }
  keep(sse(json));
}

void ModelEvents::add_reload() {
  keep(sse({{"model", "*"}, {"event", "models_reload"}}));
}

void ModelEvents::add_download(const std::string& model, const FileShares& files, const FileShare& whole) {
  keep(sse({{"model", model},
            {"event", "download_progress"},
            {"data", shares_json(files)},
            {"done_bytes", whole.n_done},
            {"total_bytes", whole.n_bytes}}));
}

void ModelEvents::add_download_end(const std::string& model, const Status& result) {
  Json json{{"model", model}, {"event", result.ok() ? "download_finished" : "download_failed"}};
  if (!result.ok()) json["data"] = {{"error", result.error().message}};
  keep(sse(json));
}

void ModelEvents::keep(std::string event) {
  if (events_.size() == kMaxKept) events_.pop_front();
  events_.push_back(std::move(event));
  ++end_;
}

std::string ModelEvents::since(uint64_t& next) const {
  const uint64_t first = end_ - events_.size();
  std::string bytes;
  for (uint64_t i = std::max(next, first); i < end_; ++i) bytes += events_[i - first];
  next = end_;
  return bytes;
}

}  // namespace realizar::server
