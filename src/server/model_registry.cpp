#include "server/model_registry.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/printable.h"

namespace realizar::server {
namespace {

uint64_t bytes_on_disk(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return std::filesystem::file_size(path, error);
  uint64_t n_bytes = 0;
  for (const auto& file : std::filesystem::directory_iterator(path, error)) {
    if (file.path().extension() == ".safetensors") n_bytes += file.file_size(error);
  }
  return n_bytes;
}

std::chrono::system_clock::time_point time_of(const std::string& path) {
  std::error_code error;
  const auto written = std::filesystem::last_write_time(path, error);
  if (error) return {};
  return std::chrono::system_clock::time_point(std::chrono::duration_cast<std::chrono::system_clock::duration>(
      std::chrono::file_clock::to_sys(written).time_since_epoch()));
}

}  // namespace

void ServedModel::close() {
  thread.reset();
  if (prefixes != nullptr && loaded != nullptr) std::exchange(prefixes, nullptr)->keep(id, *loaded);
}

ModelRegistry::ModelRegistry(std::vector<ModelSource> sources, RegistryOptions options)
    : options_(std::move(options)), stopping_(std::make_shared<std::atomic<bool>>(false)) {
  for (ModelSource& source : sources) {
    Entry entry;
    entry.created = time_of(source.path);
    entry.source = std::move(source);
    entries_.push_back(std::move(entry));
  }
}

ModelRegistry::~ModelRegistry() {
  stopping_->store(true);
  for (std::thread& loader : loaders_) loader.join();
  // What requests still hold is closed too, so that the server knows how that went.
  for (const Entry& entry : entries_) {
    if (entry.model != nullptr) entry.model->close();
  }
}

ModelRegistry::Entry* ModelRegistry::find_entry(const std::string& id) {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& entry) { return id.empty() || entry.source.id == id; });
  return found == entries_.end() ? nullptr : &*found;
}

const ModelRegistry::Entry* ModelRegistry::find(const std::string& id) const {
  return const_cast<ModelRegistry*>(this)->find_entry(id);
}

void ModelRegistry::acquire(const std::string& id, Then then) {
  Entry* entry = find_entry(id);
  if (entry == nullptr) return then(not_found("there is no model '" + shown(id) + "'", "model"));
  entry->last_used = std::chrono::steady_clock::now();
  if (entry->state == State::kReady) return then(entry->model);
  if (entry->state != State::kLoading) {
    if (auto status = make_room(*entry); !status.ok()) return then(status.error());
    load(*entry);
  }
  waiting_.push_back({entry->source.id, std::move(then)});
}

// Lets go of the least recently used models that nobody uses, until the wanted one fits.
Status ModelRegistry::make_room(const Entry& wanted) {
  if (options_.memory_bytes == 0) return {};
  const uint64_t n_needed = bytes_on_disk(wanted.source.path);
  while (true) {
    uint64_t n_held = 0;
    Entry* oldest = nullptr;
    for (Entry& entry : entries_) {
      if (entry.model == nullptr) continue;
      n_held += entry.model->n_bytes();
      const bool is_idle = entry.model->thread->n_open() == 0;
      if (is_idle && (oldest == nullptr || entry.last_used < oldest->last_used)) oldest = &entry;
    }
    if (n_held == 0 || n_held + n_needed <= options_.memory_bytes) return {};
    if (oldest == nullptr) {
      return Error{ErrorCode::kResourceExhausted,
                   fmt::format("'{}' needs {} MB, and all loaded models are in use", wanted.source.id, n_needed >> 20),
                   "model"};
    }
    retired_.push_back(oldest->model);
    oldest->model.reset();
    oldest->state = State::kUnloaded;
  }
}

void ModelRegistry::load(Entry& entry) {
  entry.state = State::kLoading;
  entry.progress = 0;
  LoadOptions load_options = options_.load;
  const auto post_io = options_.post_io;
  load_options.progress = [stopping = stopping_, post_io, &entry](uint64_t done_bytes, uint64_t total_bytes) {
    const double progress = total_bytes > 0 ? static_cast<double>(done_bytes) / static_cast<double>(total_bytes) : 1;
    post_io([&entry, progress] { entry.progress = progress; });
    return !stopping->load();
  };
  load_options.hash_weights = options_.prefixes != nullptr;
  loaders_.emplace_back([this, &entry, load_options, post_io, source = entry.source] {
    auto loaded = std::make_shared<Result<std::unique_ptr<LoadedModel>>>(LoadedModel::load(source.path, load_options));
    if (loaded->ok() && options_.prefixes != nullptr) options_.prefixes->restore(source.id, ***loaded);
    post_io([this, &entry, loaded] { on_loaded(entry, std::move(*loaded)); });
  });
}

void ModelRegistry::on_loaded(Entry& entry, Result<std::unique_ptr<LoadedModel>> loaded) {
  if (loaded.ok() && !(*loaded)->tokenizer) {
    loaded = unsupported(entry.source.path + " has no tokenizer, so it cannot be served", "model");
  }
  if (loaded.ok()) {
    auto model = std::make_shared<ServedModel>();
    model->id = entry.source.id;
    model->loaded = std::move(*loaded);
    const ModelInfo& info = model->loaded->info;
    spdlog::info("{} is loaded on {}", entry.source.id, info.backend);
    if (!info.gpu_refusal.empty()) spdlog::warn("{} is not on the GPU: {}", entry.source.id, info.gpu_refusal);
    if (!info.check.empty()) spdlog::info("{}", info.check);
    model->prefixes = options_.prefixes;
    model->output_format = text::detect_output_format(model->loaded->template_source.source);
    model->grammars = std::make_unique<GrammarCache>(model->tokenizer(), text::marker_strings(model->output_format));
    model->thread = std::make_unique<EngineThread>(*model->loaded->engine, options_.max_queue, options_.on_progress);
    entry.model = std::move(model);
    entry.state = State::kReady;
    entry.error.clear();
  } else {
    entry.state = State::kFailed;
    entry.error = loaded.error().message;
  }
  const auto is_other = [&](const Waiting& waiting) { return waiting.id != entry.source.id; };
  const auto mine = std::stable_partition(waiting_.begin(), waiting_.end(), is_other);
  std::vector<Waiting> called(std::make_move_iterator(mine), std::make_move_iterator(waiting_.end()));
  waiting_.erase(mine, waiting_.end());
  for (const Waiting& waiting : called) {
    if (entry.model != nullptr) {
      waiting.then(entry.model);
    } else {
      waiting.then(loaded.error());
    }
  }
}

void ModelRegistry::dispatch() {
  const auto dispatch_model = [](const ServedModelPtr& model) {
    if (model == nullptr) return;
    while (const auto stream = model->thread->next_ready()) {
      // A copy: the call may end the stream, and with it the function.
      if (const auto on_ready = stream->on_ready) on_ready();
    }
  };
  for (Entry& entry : entries_) dispatch_model(entry.model);
  for (const auto& retired : retired_) dispatch_model(retired.lock());
  std::erase_if(retired_, [](const auto& retired) { return retired.expired(); });
}

bool ModelRegistry::any_ready() const {
  return std::any_of(entries_.begin(), entries_.end(), [](const Entry& e) { return e.state == State::kReady; });
}

bool ModelRegistry::any_lost() const {
  return std::any_of(entries_.begin(), entries_.end(), [](const Entry& e) {
    return e.model != nullptr && e.model->loaded->engine->counters().is_device_lost;
  });
}

bool ModelRegistry::any_stalled(std::chrono::milliseconds patience) const {
  return std::any_of(entries_.begin(), entries_.end(),
                     [&](const Entry& e) { return e.model != nullptr && e.model->thread->is_stalled(patience); });
}

uint32_t ModelRegistry::n_open() const {
  uint32_t n_open = 0;
  for (const Entry& entry : entries_) n_open += entry.model != nullptr ? entry.model->thread->n_open() : 0;
  return n_open;
}

void ModelRegistry::drain() {
  for (Entry& entry : entries_) {
    if (entry.model != nullptr) entry.model->thread->drain();
  }
}

}  // namespace realizar::server
