#include "server/models/model_registry.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <iterator>
#include <span>
#include <thread>
#include <utility>

#include "base/caught.h"
#include "base/try.h"
#include "engine/fair_share.h"
#include "server/models/prefix_folders.h"

namespace realizar::server {
namespace {

Error not_loaded(const std::string& id) {
  return invalid_argument(fmt::format("the model '{}' is not loaded; POST /models/load loads it", id), "model");
}

// Delivers a notice that must not get lost, however long memory is short.
void tell_at_last(TaskThread::Listener& listener, const std::function<void()>& f) {
  bool is_told = false;
  const auto try_once = [&] { is_told = caught(f).ok(); };
  while (true) {
    is_told = true;  // also if nobody listens any more
    listener.tell(try_once);
    if (is_told) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

constexpr const char* kMemorySubject = "memory_mb";

// ResourceExhausted, with that subject: the model needs more than is left for it.
Error beyond_memory(const std::string& id, uint64_t n_needed_bytes, uint64_t n_left_bytes) {
  return {ErrorCode::kResourceExhausted,
          fmt::format("'{}' takes {} MB with its cache, and --memory-mb leaves {} MB; --ctx, --kv-tokens and --kv-type "
                      "make the cache smaller",
                      id, (n_needed_bytes >> 20) + 1, n_left_bytes >> 20),
          kMemorySubject};
}

// Only the files' size until a load has counted the cache.
uint64_t bytes_to_load(const ModelEntry& entry) {
  return std::max(entry.n_needed_bytes, bytes_on_disk(entry.source.path));
}

// The bytes that a model uses or will use when loaded.
uint64_t held_bytes(const ModelEntry& entry) {
  const uint64_t n_wanted = entry.state == ModelEntry::State::kLoading ? entry.n_wanted_bytes : 0;
  return n_wanted + (entry.model != nullptr ? entry.model->n_bytes() : 0);
}

void log_loaded(const std::string& id, const ModelInfo& info) {
  spdlog::info("{} is loaded on {}", id, info.backend);
  if (!info.gpu_refusal.empty()) spdlog::warn("{} is not on the GPU: {}", id, info.gpu_refusal);
  if (const std::string warning = long_context_warning(info); !warning.empty()) spdlog::warn("{}: {}", id, warning);
  for (const std::string& note : info.notes) spdlog::warn("{}: {}", id, note);
  if (!info.check.empty()) spdlog::info("{}", info.check);
}

// Loads a model until it can answer. Any thread; `stopping` may become true during the call. Errors: those of loading;
// Unsupported without a tokenizer; Cancelled.
Result<ServedModelPtr> load_served_model(const ModelSource& source, const RegistryOptions& options,
                                         const LoadOptions& load_options, const std::atomic<bool>& stopping) {
  RZ_TRY(auto loaded, options.load_model(source.path, load_options));
  if (stopping) return Error{ErrorCode::kCancelled, "the server is shutting down", ""};
  if (!loaded->tokenizer) return unsupported(source.path + " has no tokenizer, so it cannot be served", "model");
  log_loaded(source.id, loaded->info);
  auto model = std::make_shared<ServedModel>();
  model->id = source.id;
  model->loaded = std::move(loaded);
  if (options.adapt) RZ_CHECK_OK(options.adapt(*model->loaded));
  model->defaults = std::make_shared<const RequestDefaults>(options.defaults);
  model->texts = source.texts;
  if (options.prefixes != nullptr) {
    options.prefixes->restore(source.id, *model->loaded);
    model->keep_prefixes = [&prefixes = *options.prefixes](const ServedModel& ended) {
      const Status kept = caught([&] { prefixes.keep(ended.id, *ended.loaded); });
      if (!kept.ok()) spdlog::error("the prefixes of {} are not kept: {}", ended.id, kept.error().message);
    };
  }
  model->output_format = model->loaded->output_format;
  if (options.watch) options.watch(*model);
  model->thread =
      std::make_unique<engine::EngineThread>(*model->loaded->engine, options.max_queue, options.on_progress);
  return model;
}

}  // namespace

ModelRegistry::ModelRegistry(std::vector<ModelSource> sources, RegistryOptions options)
    : ModelList(options.strict_model_names, options.load.adapters.n_slots > 0),
      options_(std::move(options)),
      stopping_(std::make_shared<std::atomic<bool>>(false)) {
  for (ModelSource& source : sources) add_entry(std::move(source), entries_.end());
}

ModelRegistry::~ModelRegistry() {
  stopping_->store(true);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(options_.stop_timeout_ms);
  for (const Entry* entry : all()) {
    if (entry->loader == nullptr || entry->loader->end_until(deadline)) continue;
    spdlog::error("'{}' is still being loaded from a disk that does not answer; the load is abandoned",
                  entry->source.id);
  }
  // Models that requests still hold are closed too, so that the server knows the result.
  for (const Entry* entry : all()) {
    if (entry->model != nullptr) entry->model->close();
  }
}

uint64_t ModelRegistry::acquire(const std::string& id, uint64_t tenant, Then then) {
  const uint64_t ticket = ++n_tickets_;
  Entry* entry = const_cast<Entry*>(find(id));
  if (entry == nullptr) {
    then(no_such_model(id));
    return ticket;
  }
  entry->last_used = std::chrono::steady_clock::now();
  if (entry->state == State::kReady) {
    then(entry->model);
    return ticket;
  }
  const bool may_load = options_.autoload || entry->state == State::kLoading;
  const Status status = may_load ? start_loading(*entry, tenant) : Status(not_loaded(entry->source.id));
  if (!status.ok()) {
    then(status.error());
    return ticket;
  }
  waiting_.push_back({ticket, tenant, entry, std::move(then)});
  return ticket;
}

Status ModelRegistry::load_now(const std::string& id, uint64_t tenant) {
  Entry* entry = find_own(id);
  if (entry == nullptr) return no_such_model(id);
  if (entry->state == State::kReady || entry->state == State::kLoading) {
    return invalid_argument(fmt::format("the model '{}' is loaded or being loaded already", entry->source.id), "model");
  }
  entry->last_used = std::chrono::steady_clock::now();
  RZ_CHECK_OK(start_loading(*entry, tenant));
  waiting_.push_back({++n_tickets_, tenant, entry, [](const Result<ServedModelPtr>&) {}});
  return {};
}

Status ModelRegistry::unload_now(const std::string& id) {
  Entry* entry = find_own(id);
  if (entry == nullptr) return no_such_model(id);
  if (entry->state != State::kReady) return not_loaded(entry->source.id);
  entry->keep_alive = std::chrono::milliseconds(0);
  unload_idle();
  return {};
}

Status ModelRegistry::remove(const std::string& id) {
  const Entry* found = find_named(id);
  if (found == nullptr) return no_such_model(id);
  take_away(std::ranges::find_if(entries_, [&](const Entry& entry) { return &entry == found; }));
  unload_idle();
  return {};
}

void ModelRegistry::take_away(std::list<Entry>::iterator entry) {
  tell(*entry, no_such_model(entry->source.id));
  entry->keep_alive = std::chrono::milliseconds(0);
  move_out(entry);
}

void ModelRegistry::set_sources(std::vector<ModelSource> sources) {
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto here = entry++;
    const auto is_same = [&](const ModelSource& source) {
      return is_same_model(source, here->source) && time_of(source.path) == here->created;
    };
    const auto same = std::ranges::find_if(sources, is_same);
    if (same == sources.end()) {
      take_away(here);
    } else {
      here->source = std::move(*same);
      sources.erase(same);
    }
  }
  for (ModelSource& source : sources) add_entry(std::move(source), entries_.end());
  unload_idle();
}

void ModelRegistry::put(ModelSource source) {
  const auto old = std::ranges::find_if(entries_, [&](const Entry& entry) { return entry.source.id == source.id; });
  if (old != entries_.end()) {
    source.aliases = old->source.aliases;
    source.tags = old->source.tags;
    keep_adapters_of_flags(old->source, source);
    if (is_same_model(source, old->source) && time_of(source.path) == old->created) {
      old->source = std::move(source);
      return;
    }
  }
  const auto added = add_entry(std::move(source), old);
  if (old == entries_.end()) return;
  // Requests that wait for a replaced model wait for the new one.
  for (Waiting& one : waiting_) {
    if (one.entry == &*old) one.entry = &*added;
  }
  if (is_wanted(*added) && !must_wait_for_memory()) {
    if (const Status status = begin_loading(*added); !status.ok()) tell(*added, status.error());
  }
  take_away(old);
  unload_idle();
}

// Finds a slot for one more waiting request, possibly another tenant's. Errors: ResourceExhausted.
Status ModelRegistry::make_room(const Entry& entry, uint64_t tenant) {
  const auto n_waiting = static_cast<uint64_t>(std::ranges::count(waiting_, &entry, &Waiting::entry));
  const uint64_t n_places = std::max<uint64_t>(options_.max_queue, 1);
  if (n_waiting < n_places) return {};
  const auto holding_of = [&](const Waiting& waiting) {
    return engine::Holding{waiting.tenant, waiting.entry == &entry ? 1u : 0u};
  };
  const Error is_full{ErrorCode::kResourceExhausted,
                      fmt::format("{} requests wait for '{}' already", n_waiting, entry.source.id), "queue"};
  const auto leaving = engine::newest_of_most(waiting_, holding_of, {tenant, 1}, n_places);
  if (leaving == waiting_.end()) return is_full;
  const Then then = leaving->then;
  waiting_.erase(leaving);
  then(is_full);
  return {};
}

bool ModelRegistry::is_wanted(const Entry& entry) const {
  return std::ranges::count(waiting_, &entry, &Waiting::entry) > 0;
}

// These requests no longer wait.
void ModelRegistry::tell(const Entry& entry, const Result<ServedModelPtr>& outcome) {
  const auto is_other = [&](const Waiting& waiting) { return waiting.entry != &entry; };
  const auto mine = std::stable_partition(waiting_.begin(), waiting_.end(), is_other);
  std::vector<Waiting> called(std::make_move_iterator(mine), std::make_move_iterator(waiting_.end()));
  waiting_.erase(mine, waiting_.end());
  for (const Waiting& waiting : called) waiting.then(outcome);
}

// Starts loading, or returns the reason why not.
Status ModelRegistry::start_loading(Entry& entry, uint64_t tenant) {
  RZ_CHECK_OK(make_room(entry, tenant));
  const bool is_under_way = entry.state == State::kLoading || entry.state == State::kUnloading;
  return is_under_way || must_wait_for_memory() ? Status() : begin_loading(entry);
}

// Models being removed still hold memory: a load that needs it waits for on_unloaded().
bool ModelRegistry::must_wait_for_memory() {
  const auto is_leaving = [](const Entry* entry) { return entry->state == State::kUnloading; };
  return has_bounds() && std::ranges::any_of(all(), is_leaving);
}

Status ModelRegistry::begin_loading(Entry& entry) {
  const auto retry_at = entry.failed_at + std::chrono::milliseconds(options_.retry_ms);
  if (entry.failure && entry.last_used < retry_at) return told_failure(entry.source.id, *entry.failure);
  RZ_TRY(std::list<Evicted> evicted, make_room(entry));
  const Status started = caught([&] { return load(entry, evicted); });
  if (!started.ok()) take_back(evicted);
  return started;
}

// Evicts the least recently used models that nobody uses, until the wanted one fits together with the others and the
// answers. Errors: ResourceExhausted (all loaded models are in use, or it never fits).
Result<std::list<ModelRegistry::Evicted>> ModelRegistry::make_room(const Entry& wanted) {
  std::list<Evicted> evicted;
  if (!has_bounds()) return evicted;
  const uint64_t memory_bytes = options_.memory_bytes;
  // A model that cannot fit evicts nothing.
  if (memory_bytes > 0 && wanted.n_needed_bytes > memory_bytes) {
    return beyond_memory(wanted.source.id, wanted.n_needed_bytes, memory_bytes);
  }
  const uint64_t n_answer_bytes = options_.n_answer_bytes ? options_.n_answer_bytes() : 0;
  const uint64_t n_needed = bytes_to_load(wanted);
  uint64_t n_held = 0;
  uint32_t n_loaded = 0;
  std::vector<Entry*> unused;
  for (Entry* entry : all()) {
    n_held += held_bytes(*entry);
    if (entry->state == State::kLoading || entry->model != nullptr) ++n_loaded;
    // Only the registry can hand it out, so it remains unused.
    if (entry->model != nullptr && entry->is_unused()) unused.push_back(entry);
  }
  std::ranges::stable_sort(unused, {}, &Entry::last_used);
  const auto fits = [&] {
    const bool has_memory = memory_bytes == 0 || n_held == 0 || n_held + n_answer_bytes + n_needed <= memory_bytes;
    return has_memory && (options_.max_loaded == 0 || n_loaded < options_.max_loaded);
  };
  size_t n_leaving = 0;
  for (; !fits(); ++n_leaving, --n_loaded) {
    if (n_leaving == unused.size()) {
      return Error{ErrorCode::kResourceExhausted,
                   fmt::format("'{}' needs {} MB, and all loaded models are in use", wanted.source.id, n_needed >> 20),
                   "model"};
    }
    n_held -= held_bytes(*unused[n_leaving]);
  }
  for (Entry* entry : std::span(unused).first(n_leaving)) {
    Evicted& one = evicted.emplace_back();
    one.entry = entry;
    one.model = std::move(entry->model);
    one.counts.take(*one.model->loaded);
    set_state(*entry, State::kUnloaded);
  }
  return evicted;
}

void ModelRegistry::take_back(std::list<Evicted>& evicted) {
  for (Evicted& back : evicted) {
    if (back.model == nullptr) continue;
    back.entry->model = std::move(back.model);
    set_state(*back.entry, State::kReady);
  }
}

// The evicted models end, and keep their prefixes, on the loader's thread, before the memory is used again.
Status ModelRegistry::load(Entry& entry, std::list<Evicted>& evicted) {
  const auto leaving = std::make_shared<std::vector<ServedModelPtr>>();
  const auto loaded = std::make_shared<Result<ServedModelPtr>>(ServedModelPtr());
  const auto n_needed = std::make_shared<uint64_t>(0);
  const uint64_t n_left = left_bytes(entry);
  std::function<void(TaskThread::Listener&)> task = [this, &entry, leaving, loaded, n_needed, n_left,
                                                     options = options_, source = entry.source,
                                                     stopping = stopping_](TaskThread::Listener& listener) {
    leaving->clear();
    LoadOptions load_options = options.load;
    load_options.beside = source.beside;
    load_options.adapters.sources = source.adapters;
    load_options.adapters.default_name = source.default_adapter;
    load_options.hash_weights = options.hash_weights || options.prefixes != nullptr;
    load_options.progress = [&](uint64_t done_bytes, uint64_t total_bytes) {
      const double progress = total_bytes > 0 ? static_cast<double>(done_bytes) / static_cast<double>(total_bytes) : 1;
      listener.tell([&] { options.post_io([this, &entry, progress] { set_progress(entry, progress); }); });
      return !stopping->load();
    };
    if (options.memory_bytes > 0) {
      const auto needed = caught([&] { return options.needed_bytes(source.path, load_options); });
      *n_needed = needed.ok() ? *needed : 0;
    }
    *loaded = *n_needed > n_left ? Result<ServedModelPtr>(beyond_memory(source.id, *n_needed, n_left))
                                 : caught([&] { return load_served_model(source, options, load_options, *stopping); });
    tell_at_last(listener, [&] {
      options.post_io([this, &entry, loaded, n_needed] { on_loaded(entry, std::move(*loaded), *n_needed); });
    });
  };
  const uint64_t n_wanted_bytes = has_bounds() ? bytes_to_load(entry) : 0;
  for (Evicted& unused : evicted) leaving->push_back(std::move(unused.model));
  const Status started = caught([&] { entry.loader = std::make_unique<TaskThread>(std::move(task)); });
  if (!started.ok()) {
    auto back = leaving->begin();
    for (Evicted& unused : evicted) unused.model = std::move(*back++);
    return started;
  }
  for (const Evicted& unused : evicted) past_counts_[unused.entry->source.id].add(unused.counts);
  entry.progress = 0;
  set_state(entry, State::kLoading);
  entry.keep_alive = options_.keep_alive;
  entry.n_wanted_bytes = n_wanted_bytes;
  return {};
}

// Bytes that the other models neither use nor will use.
uint64_t ModelRegistry::left_bytes(const Entry& wanted) {
  if (options_.memory_bytes == 0) return UINT64_MAX;
  uint64_t n_held = 0;
  for (const Entry* entry : all()) n_held += entry == &wanted ? 0 : held_bytes(*entry);
  return options_.memory_bytes - std::min(n_held, options_.memory_bytes);
}

void ModelRegistry::on_loaded(Entry& entry, Result<ServedModelPtr> loaded, uint64_t n_needed_bytes) {
  entry.loader.reset();  // it has nothing left to do
  entry.failure.reset();
  const bool is_larger = n_needed_bytes > entry.n_needed_bytes;
  entry.n_needed_bytes = n_needed_bytes;
  const bool lacks_room = !loaded.ok() && loaded.error().subject == kMemorySubject;
  // Now that its size is known, more of the others may have to be evicted.
  if (lacks_room && is_larger && n_needed_bytes <= options_.memory_bytes) {
    entry.state = State::kUnloaded;
    const Status again = must_wait_for_memory() ? Status() : begin_loading(entry);
    if (again.ok()) return;
    loaded = again.error();
  }
  entry.last_used = std::chrono::steady_clock::now();
  if (loaded.ok()) {
    entry.model = *loaded;
    entry.has_served = has_served_ = true;
  } else {
    entry.failure = loaded.error();
    entry.failed_at = std::chrono::steady_clock::now();
    // If the first model fails at the start, the server fails, and reports it.
    const bool is_own = !has_served_ && !entries_.empty() && &entry == &entries_.front();
    if (!is_own) spdlog::error("'{}' could not be loaded: {}", entry.source.id, loaded.error().message);
  }
  set_state(entry, loaded.ok() ? State::kReady : State::kFailed);
  tell(entry, loaded.ok() ? std::move(loaded) : Result<ServedModelPtr>(told_failure(entry.source.id, loaded.error())));
  drop_gone();
}

void ModelRegistry::keep_alive(const std::string& id, std::optional<std::chrono::milliseconds> duration) {
  Entry* entry = find_own(id);
  if (entry != nullptr && entry->state == State::kReady) entry->keep_alive = duration;
}

void ModelRegistry::unload_idle() {
  const auto now = std::chrono::steady_clock::now();
  for (Entry* entry : all()) {
    if (entry->state != State::kReady || !entry->keep_alive) continue;
    if (!entry->is_unused()) {
      entry->last_used = now;
    } else if (now - entry->last_used >= *entry->keep_alive) {
      unload(*entry);
    }
  }
  drop_gone();
}

// The model ends, and keeps its prefixes, on a separate thread.
void ModelRegistry::unload(Entry& entry) {
  const auto leaving = std::make_shared<ServedModelPtr>();
  std::function<void(TaskThread::Listener&)> task = [this, &entry, leaving,
                                                     post_io = options_.post_io](TaskThread::Listener& listener) {
    leaving->reset();
    tell_at_last(listener, [&] { post_io([this, &entry] { on_unloaded(entry); }); });
  };
  PastCounts counts;
  counts.take(*entry.model->loaded);
  *leaving = std::move(entry.model);
  const Status started = caught([&] { entry.loader = std::make_unique<TaskThread>(std::move(task)); });
  if (!started.ok()) {
    entry.model = std::move(*leaving);
    return;
  }
  past_counts_[entry.source.id].add(counts);
  set_state(entry, State::kUnloading);
}

void ModelRegistry::on_unloaded(Entry& entry) {
  entry.loader.reset();  // it has nothing left to do
  set_state(entry, State::kUnloaded);
  spdlog::info("{} is unloaded", entry.source.id);
  for (Entry& wanted : entries_) {
    const bool is_idle = wanted.state == State::kUnloaded || wanted.state == State::kFailed;
    if (!is_idle || must_wait_for_memory() || !is_wanted(wanted)) continue;
    if (const Status status = begin_loading(wanted); !status.ok()) tell(wanted, status.error());
  }
  drop_gone();
}

Error told_failure(const std::string& id, const Error& failure) {
  if (failure.code == ErrorCode::kCancelled) {
    return {ErrorCode::kResourceExhausted, "the server is shutting down", "shutdown"};
  }
  const std::string message = fmt::format("the model '{}' could not be loaded; the server's log has the reason", id);
  if (failure.code == ErrorCode::kResourceExhausted) return {failure.code, message, kOutOfResources};
  return {ErrorCode::kInternal, message, ""};
}

}  // namespace realizar::server
