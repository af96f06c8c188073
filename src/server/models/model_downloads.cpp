#include "server/models/model_downloads.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <thread>
#include <utility>

#include "base/caught.h"
#include "base/printable.h"
#include "base/try.h"

namespace realizar::server {
namespace {

Result<ModelSource> pulled_model(const ModelPull& pull, const ModelStore& store, const hub::OnPullProgress& on_progress,
                                 const std::atomic<bool>& is_cancelled) {
  RZ_TRY(const hub::RemoteModel remote, hub::look_up(pull.source, store.hub, is_cancelled));
  RZ_TRY([[maybe_unused]] const hub::StoredModel stored,
         hub::pull(pull.name, remote, store.library.store(), store.hub, on_progress, is_cancelled));
  RZ_TRY(const hub::LocalModel model, store.library.find(pull.name));
  return source_of_local(model);
}

Error gave_way() {
  return {ErrorCode::kResourceExhausted,
          "the download gave way to another client's; received data is kept for the next one", "pulls"};
}

}  // namespace

std::vector<hub::PullProgress> ModelPull::take_steps() {
  const std::lock_guard lock(mutex_);
  std::vector<hub::PullProgress> steps(std::make_move_iterator(steps_.begin()), std::make_move_iterator(steps_.end()));
  steps_.clear();
  return steps;
}

// True if it is the first step not yet taken.
bool ModelPull::add_step(const hub::PullProgress& step) {
  const std::lock_guard lock(mutex_);
  const bool is_first = steps_.empty();
  const bool replaces = !is_first && steps_.back().file == step.file && step.stage != hub::PullStage::kWriting;
  if (replaces) steps_.pop_back();
  steps_.push_back(step);
  return is_first;
}

ModelPulls::~ModelPulls() {
  for (const Running& running : running_) {
    running.pull->on_update = {};
    running.pull->cancel();
  }
}

Result<ModelPullPtr> ModelPulls::start(uint64_t tenant, const hub::ModelName& name, const hub::ModelName& source,
                                       std::function<void(ModelSource)> on_stored) {
  std::erase_if(running_, [](const Running& running) { return running.pull->result_.has_value(); });
  const auto pull = std::make_shared<ModelPull>();
  pull->name = name;
  pull->source = source;
  pull->slot_ = slots_->take(tenant, [leaving = std::weak_ptr(pull)] {
    const ModelPullPtr one = leaving.lock();
    if (one == nullptr) return;
    one->gave_way_ = true;
    one->cancel();
  });
  if (pull->slot_ == nullptr) {
    return Error{ErrorCode::kResourceExhausted, fmt::format("{} downloads are under way already", slots_->n_taken()),
                 "pulls"};
  }
  const auto task = [this, pull, on_stored = std::move(on_stored)](TaskThread::Listener&) { run(pull, on_stored); };
  const Status started = caught([&] { running_.push_back({pull, std::make_unique<TaskThread>(task)}); });
  if (!started.ok()) return started.error();
  return pull;
}

// On the download's thread. Its result is set on the I/O thread, after the model got its name there.
void ModelPulls::run(const ModelPullPtr& pull, const std::function<void(ModelSource)>& on_stored) const {
  const auto signal_update = [pull] {
    if (pull->on_update) pull->on_update();
  };
  const auto on_progress = [&](const hub::PullProgress& step) {
    const bool is_first = pull->add_step(step);
    if (is_first) post_io_(signal_update);
  };
  const auto model = std::make_shared<Result<ModelSource>>(
      caught([&] { return pulled_model(*pull, store_, on_progress, pull->is_cancelled_); }));
  const auto end = [pull, model, on_stored, signal_update] {
    if (model->ok()) {
      spdlog::info("{} was downloaded into the store", (*model)->id);
      on_stored(std::move(**model));
    }
    pull->result_ = model->ok() ? Status() : Status(pull->gave_way_ ? gave_way() : model->error());
    pull->slot_.reset();
    signal_update();
  };
  // It must not get lost, however long memory is short.
  while (!caught([&] { post_io_(end); }).ok()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

ModelDownloads::~ModelDownloads() {
  for (const Download& download : downloads_) download.pull->on_update = {};
}

Status ModelDownloads::start(uint64_t tenant, const std::string& given, const hub::ModelName& name,
                             const hub::ModelName& source, std::function<void(ModelSource)> on_stored) {
  const auto is_it = [&](const Download& download) { return download.pull->name == name; };
  if (std::ranges::any_of(downloads_, is_it)) {
    return invalid_argument(fmt::format("the model '{}' is being downloaded already", shown(given)), "model");
  }
  RZ_TRY(ModelPullPtr pull, pulls_.start(tenant, name, source, std::move(on_stored)));
  downloads_.push_back({given, pull, {}, {}});
  pull->on_update = [this, download = std::prev(downloads_.end())] { on_update(download); };
  return {};
}

bool ModelDownloads::cancel(const std::string& given) {
  const auto is_it = [&](const Download& download) { return download.name == given; };
  const auto found = std::ranges::find_if(downloads_, is_it);
  if (found == downloads_.end()) return false;
  found->pull->cancel();
  return true;
}

void ModelDownloads::on_update(std::list<Download>::iterator download) {
  const auto steps = download->pull->take_steps();
  for (const hub::PullProgress& step : steps) {
    download->files[step.file] = {step.file_done, step.file_bytes};
    download->whole = {step.total_done, step.total_bytes};
  }
  if (!steps.empty()) {
    events_.add_download(download->name, download->files, download->whole);
    on_event_();
  }
  if (!download->pull->result()) return;
  const Status& result = *download->pull->result();
  if (!result.ok()) spdlog::error("'{}' could not be downloaded: {}", shown(download->name), result.error().message);
  events_.add_download_end(download->name, result);
  on_event_();
  // The running function belongs to the object that is released.
  const ModelPullPtr kept = download->pull;
  const auto own = std::exchange(kept->on_update, {});
  downloads_.erase(download);
}

}  // namespace realizar::server
