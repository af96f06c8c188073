#include "server/models/model_downloads.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/printable.h"
#include "base/try.h"

namespace realizar::server {

ModelDownloads::~ModelDownloads() {
  for (const Download& download : downloads_) download.pull->on_news = {};
}

Status ModelDownloads::start(uint64_t tenant, const std::string& given, const hub::ModelName& name,
                             const hub::ModelName& source, std::function<void(ModelSource)> on_stored) {
  const auto is_it = [&](const Download& download) { return download.pull->name == name; };
  if (std::ranges::any_of(downloads_, is_it)) {
    return invalid_argument(fmt::format("the model '{}' is being downloaded already", shown(given)), "model");
  }
  RZ_TRY(ModelPullPtr pull, pulls_.start(tenant, name, source, std::move(on_stored)));
  downloads_.push_back({given, pull, {}});
  pull->on_news = [this, download = std::prev(downloads_.end())] { on_news(download); };
  return {};
}

bool ModelDownloads::cancel(const std::string& given) {
  const auto is_it = [&](const Download& download) { return download.name == given; };
  const auto found = std::ranges::find_if(downloads_, is_it);
  if (found == downloads_.end()) return false;
  found->pull->cancel();
  return true;
}

void ModelDownloads::on_news(std::list<Download>::iterator download) {
  const auto steps = download->pull->take_steps();
  for (const hub::PullProgress& step : steps) download->files[step.file] = {step.file_done, step.file_bytes};
  if (!steps.empty()) {
    events_.add_download(download->name, download->files);
    on_event_();
  }
  if (!download->pull->result()) return;
  const Status& result = *download->pull->result();
  if (!result.ok()) spdlog::error("'{}' could not be downloaded: {}", shown(download->name), result.error().message);
  events_.add_download_end(download->name, result);
  on_event_();
  // The function that runs lies in what is let go.
  const ModelPullPtr kept = download->pull;
  const auto own = std::exchange(kept->on_news, {});
  downloads_.erase(download);
}

}  // namespace realizar::server
