#include "server/models/model_registry.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "api/long_context.h"
#include "base/caught.h"
#include "base/printable.h"
#include "base/try.h"
#include "engine/adapters.h"
#include "engine/engine.h"
#include "engine/fair_share.h"
#include "server/models/prefix_keeper.h"

namespace realizar::server {
namespace {

Error not_loaded(const std::string& id) {
  return invalid_argument(fmt::format("the model '{}' is not loaded; POST /models/load loads it", id), "model");
}

std::function<void(const ServedModel&)> keeping_in(PrefixKeeper& prefixes) {
  return [&prefixes](const ServedModel& model) {
    const Status kept = caught([&] { prefixes.keep(model.id, *model.loaded); });
    if (!kept.ok()) spdlog::error("the prefixes of {} are not kept: {}", model.id, kept.error().message);
  };
}

}  // namespace

ModelRegistry::ModelRegistry(std::vector<ModelSource> sources, RegistryOptions options)
    : options_(std::move(options)), stopping_(std::make_shared<std::atomic<bool>>(false)) {
  for (ModelSource& source : sources) add_entry(std::move(source), entries_.end());
}

std::list<ModelRegistry::Entry>::iterator ModelRegistry::add_entry(ModelSource source,
                                                                   std::list<Entry>::iterator before) {
  Entry entry;
  entry.created = time_of(source.path);
  entry.source = std::move(source);
  return entries_.insert(before, std::move(entry));
}

// Those that are on their way out too.
template <class F>
void ModelRegistry::for_each_entry(F f) {
  for (std::list<Entry>* list : {&entries_, &leaving_}) {
    for (Entry& entry : *list) f(entry);
  }
}

void ModelRegistry::set_state(Entry& entry, State state) {
  entry.state = state;
  const bool is_told = on_change_ != nullptr && state != State::kUnloading;
  if (is_told) on_change_({"model_status", entry.source.id, model_status(entry), {}});
}

// Told in steps that a reader can follow.
void ModelRegistry::set_progress(Entry& entry, double progress) {
  constexpr double kSteps = 20;
  const bool is_step = static_cast<int>(progress * kSteps) > static_cast<int>(entry.progress * kSteps);
  entry.progress = progress;
  if (is_step && on_change_) on_change_({"model_status", entry.source.id, model_status(entry), progress});
}

ModelRegistry::~ModelRegistry() {
  stopping_->store(true);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(options_.stop_timeout_ms);
  for_each_entry([&](const Entry& entry) {
    if (entry.loader == nullptr || entry.loader->end_until(deadline)) return;
    spdlog::error("'{}' is still being loaded from a disk that does not answer; the load is abandoned",
                  entry.source.id);
  });
  // What requests still hold is closed too, so that the server knows how that went.
  for_each_entry([](const Entry& entry) {
    if (entry.model != nullptr) entry.model->close();
  });
}

const ModelRegistry::Entry* ModelRegistry::find_named(const std::string& id) const {
  using IsSame = bool (*)(std::string_view, std::string_view);
  const auto find_by = [&](IsSame is_same) -> const Entry* {
    const auto has_name = [&](const Entry& entry) {
      const auto is_it = [&](const std::string& name) { return is_same(name, id); };
      return is_it(entry.source.id) || std::ranges::any_of(entry.source.aliases, is_it);
    };
    const auto found = std::ranges::find_if(entries_, has_name);
    return found == entries_.end() ? nullptr : &*found;
  };
  if (const Entry* exact = find_by([](std::string_view a, std::string_view b) { return a == b; })) return exact;
  if (const Entry* same = find_by(is_same_name)) return same;
  for (const std::string& spelling : hub_spellings(id)) {
    const auto has_name = [&](const Entry& entry) { return is_same_name(entry.source.id, spelling); };
    const auto found = std::ranges::find_if(entries_, has_name);
    if (found != entries_.end()) return &*found;
  }
  return nullptr;
}

std::vector<std::string> ModelRegistry::adapters_of(const Entry& entry) const {
  std::vector<std::string> names;
  if (entry.model != nullptr) {
    for (AdapterInfo& info : entry.model->loaded->engine->adapters().list()) names.push_back(std::move(info.name));
  } else {
    for (const AdapterSource& adapter : entry.source.adapters) names.push_back(adapter.name);
  }
  return names;
}

bool ModelRegistry::has_room_for_adapters(const Entry& entry) const {
  return options_.load.adapters.n_places > 0 || !entry.source.adapters.empty();
}

ModelRegistry::Named ModelRegistry::resolve(const std::string& id) const {
  if (entries_.empty()) return {nullptr, ""};
  if (id.empty()) return {&entries_.front(), ""};
  if (const Entry* named = find_named(id)) return {named, ""};
  const size_t colon = id.rfind(':');
  const std::string base = colon == std::string::npos ? "" : id.substr(0, colon);
  for (const Entry& entry : entries_) {
    for (const std::string& adapter : adapters_of(entry)) {
      const bool is_it = id == adapter || (adapter == id.substr(colon + 1) && find_named(base) == &entry);
      if (is_it) return {&entry, adapter};
    }
  }
  const Entry& only = entries_.front();
  const bool wants_adapter = has_room_for_adapters(only) && !base.empty() && find_named(base) == &only;
  const bool takes_any = entries_.size() == 1 && !options_.strict_names && !wants_adapter;
  return {takes_any ? &only : nullptr, ""};
}

Error ModelRegistry::no_such_model(const std::string& id) const {
  return not_found("there is no model '" + shown(id) + "'; GET /v1/models lists those that there are", "model");
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
  const bool is_wanted = options_.autoload || entry->state == State::kLoading;
  const Status status = is_wanted ? start_loading(*entry, tenant) : Status(not_loaded(entry->source.id));
  if (!status.ok()) {
    then(status.error());
    return ticket;
  }
  waiting_.push_back({ticket, tenant, entry, std::move(then)});
  return ticket;
}

void ModelRegistry::forget(uint64_t ticket) {
  std::erase_if(waiting_, [&](const Waiting& waiting) { return waiting.ticket == ticket; });
}

ModelRegistry::Entry* ModelRegistry::find_own(const std::string& id) {
  return const_cast<Entry*>(find_named(id));
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

// Entries keep their places in memory: those that load them or wait for them have their addresses.
void ModelRegistry::take_away(std::list<Entry>::iterator entry) {
  const std::string id = entry->source.id;
  tell_waiting(*entry, no_such_model(id));
  entry->keep_alive = std::chrono::milliseconds(0);
  leaving_.splice(leaving_.end(), entries_, entry);
  if (on_change_) on_change_({"model_remove", id, "", {}});
}

void ModelRegistry::drop_gone() {
  std::erase_if(leaving_, [](const Entry& entry) {
    const bool is_idle = entry.state == State::kUnloaded || entry.state == State::kFailed;
    return is_idle && entry.loader == nullptr;
  });
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
  hand_waiting_over(*old, *added);
  take_away(old);
  unload_idle();
}

// Whoever waits for a model that another takes the place of waits for that one.
void ModelRegistry::hand_waiting_over(const Entry& old, Entry& next) {
  bool is_wanted = false;
  for (Waiting& waiting : waiting_) {
    if (waiting.entry != &old) continue;
    waiting.entry = &next;
    is_wanted = true;
  }
  if (!is_wanted || must_wait_for_memory()) return;
  if (const Status status = begin_loading(next); !status.ok()) tell_waiting(next, status.error());
}

// Until it is loading, or an error says why it is not.
Status ModelRegistry::start_loading(Entry& entry, uint64_t tenant) {
  RZ_CHECK_OK(find_place(entry, tenant));
  const bool is_under_way = entry.state == State::kLoading || entry.state == State::kUnloading;
  return is_under_way || must_wait_for_memory() ? Status() : begin_loading(entry);
}

// Room for a further request that waits for the model, which tenants share as they share the engine's queue.
Status ModelRegistry::find_place(const Entry& entry, uint64_t tenant) {
  const auto n_waiting = static_cast<uint64_t>(std::ranges::count(waiting_, &entry, &Waiting::entry));
  const uint64_t n_places = std::max(options_.max_queue, 1u);
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

// What is leaving still has its memory: whoever wants some waits for on_unloaded().
bool ModelRegistry::must_wait_for_memory() const {
  const auto is_leaving = [](const Entry& e) { return e.state == State::kUnloading; };
  return is_bounded() && (std::ranges::any_of(entries_, is_leaving) || std::ranges::any_of(leaving_, is_leaving));
}

Status ModelRegistry::begin_loading(Entry& entry) {
  const auto retry_at = entry.failed_at + std::chrono::milliseconds(options_.retry_ms);
  if (entry.failure && entry.last_used < retry_at) return told_failure(entry.source.id, *entry.failure);
  RZ_TRY(std::list<GivenUp> given_up, make_room(entry));
  const Status started = caught([&] { return load(entry, given_up); });
  if (!started.ok()) take_back(given_up);
  return started;
}

namespace {

constexpr const char* kMemory = "memory_mb";  // the subject of what has no room

// Before a load has counted the cache, the files alone.
uint64_t bytes_to_load(const ModelRegistry::Entry& entry) {
  return std::max(entry.n_needed_bytes, bytes_on_disk(entry.source.path));
}

Error beyond_memory(const std::string& id, uint64_t n_needed_bytes, uint64_t n_left_bytes) {
  return {ErrorCode::kResourceExhausted,
          fmt::format("'{}' takes {} MB with its cache, and --memory-mb leaves {} MB; --ctx, --kv-tokens and --kv-type "
                      "make the cache smaller",
                      id, (n_needed_bytes >> 20) + 1, n_left_bytes >> 20),
          kMemory};
}

}  // namespace

// Gives up the least recently used models that nobody uses, until the wanted one fits.
Result<std::list<ModelRegistry::GivenUp>> ModelRegistry::make_room(const Entry& wanted) {
  std::list<GivenUp> given_up;
  if (!is_bounded()) return given_up;
  // Nobody else goes for what cannot fit.
  if (options_.memory_bytes > 0 && wanted.n_needed_bytes > options_.memory_bytes) {
    return beyond_memory(wanted.source.id, wanted.n_needed_bytes, options_.memory_bytes);
  }
  const uint64_t n_needed = bytes_to_load(wanted);
  const uint64_t n_answers = options_.n_answer_bytes ? options_.n_answer_bytes() : 0;
  while (true) {
    uint64_t n_held = 0;
    uint32_t n_loaded = 0;
    Entry* oldest = nullptr;
    for_each_entry([&](Entry& entry) {
      if (entry.state == State::kLoading) n_held += entry.n_wanted_bytes;
      if (entry.state == State::kLoading || entry.model != nullptr) ++n_loaded;
      if (entry.model == nullptr) return;
      n_held += entry.model->n_bytes();
      // Nobody but this registry can hand it out, so that who has it alone keeps it alone.
      const bool is_unused = entry.model.use_count() == 1 && entry.model->thread->n_open() == 0;
      if (is_unused && (oldest == nullptr || entry.last_used < oldest->last_used)) oldest = &entry;
    });
    const bool has_memory =
        options_.memory_bytes == 0 || n_held == 0 || n_held + n_answers + n_needed <= options_.memory_bytes;
    const bool has_place = options_.max_loaded == 0 || n_loaded < options_.max_loaded;
    if (has_memory && has_place) return given_up;
    if (oldest == nullptr) break;
    GivenUp& unused = given_up.emplace_back();
    unused.entry = oldest;
    unused.model = std::move(oldest->model);
    unused.counts.add(*unused.model->loaded);
    set_state(*oldest, State::kUnloaded);
  }
  take_back(given_up);
  return Error{ErrorCode::kResourceExhausted,
               fmt::format("'{}' needs {} MB, and all loaded models are in use", wanted.source.id, n_needed >> 20),
               "model"};
}

void ModelRegistry::take_back(std::list<GivenUp>& given_up) {
  for (GivenUp& back : given_up) {
    if (back.model == nullptr) continue;
    back.entry->model = std::move(back.model);
    set_state(*back.entry, State::kReady);
  }
}

namespace {

// On the loader's thread: from the file to a model that answers.
Result<ServedModelPtr> served_model(const ModelSource& source, const RegistryOptions& options,
                                    const LoadOptions& load_options, const std::atomic<bool>& stopping) {
  RZ_TRY(auto loaded, options.load_model(source.path, load_options));
  if (stopping) return Error{ErrorCode::kCancelled, "the server is shutting down", ""};
  if (!loaded->tokenizer) return unsupported(source.path + " has no tokenizer, so it cannot be served", "model");
  const ModelInfo& info = loaded->info;
  spdlog::info("{} is loaded on {}", source.id, info.backend);
  if (!info.gpu_refusal.empty()) spdlog::warn("{} is not on the GPU: {}", source.id, info.gpu_refusal);
  if (const std::string warning = long_context_warning(info); !warning.empty()) {
    spdlog::warn("{}: {}", source.id, warning);
  }
  for (const std::string& note : info.notes) spdlog::warn("{}: {}", source.id, note);
  if (!info.check.empty()) spdlog::info("{}", info.check);
  auto model = std::make_shared<ServedModel>();
  model->id = source.id;
  model->loaded = std::move(loaded);
  if (options.adapt) RZ_CHECK_OK(options.adapt(*model->loaded));
  model->defaults = options.defaults;
  model->texts = source.texts;
  if (options.prefixes != nullptr) options.prefixes->restore(source.id, *model->loaded);
  if (options.prefixes != nullptr) model->keep_prefixes = keeping_in(*options.prefixes);
  model->output_format = text::detect_output_format(model->loaded->output_source);
  model->thread =
      std::make_unique<engine::EngineThread>(*model->loaded->engine, options.max_queue, options.on_progress);
  return model;
}

// Tells what may not get lost, however long memory is short.
void tell_at_last(TaskThread::Listener& listener, const std::function<void()>& f) {
  bool is_told = false;
  const auto try_once = [&] { is_told = caught(f).ok(); };
  while (true) {
    is_told = true;  // also where nobody listens any more
    listener.tell(try_once);
    if (is_told) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace

// The given-up models end, and keep their prefixes, on the loader's thread, before the memory is taken again.
Status ModelRegistry::load(Entry& entry, std::list<GivenUp>& given_up) {
  const auto leaving = std::make_shared<std::vector<ServedModelPtr>>();
  const auto loaded = std::make_shared<Result<ServedModelPtr>>(ServedModelPtr());
  const auto n_needed = std::make_shared<uint64_t>(0);
  const uint64_t n_left = options_.memory_bytes > 0 ? options_.memory_bytes - held_bytes(entry) : UINT64_MAX;
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
                                 : caught([&] { return served_model(source, options, load_options, *stopping); });
    tell_at_last(listener, [&] {
      options.post_io([this, &entry, loaded, n_needed] { on_loaded(entry, std::move(*loaded), *n_needed); });
    });
  };
  const uint64_t n_wanted_bytes = is_bounded() ? bytes_to_load(entry) : 0;
  for (GivenUp& unused : given_up) leaving->push_back(std::move(unused.model));
  const Status started = caught([&] { entry.loader = std::make_unique<TaskThread>(std::move(task)); });
  if (!started.ok()) {
    auto back = leaving->begin();
    for (GivenUp& unused : given_up) unused.model = std::move(*back++);
    return started;
  }
  for (const GivenUp& unused : given_up) past_counts_[unused.entry->source.id].add(unused.counts);
  entry.progress = 0;
  set_state(entry, State::kLoading);
  entry.keep_alive = options_.keep_alive;
  entry.n_wanted_bytes = n_wanted_bytes;
  return {};
}

// What the others have or are getting, up to the bound.
uint64_t ModelRegistry::held_bytes(const Entry& but) {
  uint64_t n_held = 0;
  for_each_entry([&](const Entry& entry) {
    if (&entry == &but) return;
    if (entry.state == State::kLoading) n_held += entry.n_wanted_bytes;
    if (entry.model != nullptr) n_held += entry.model->n_bytes();
  });
  return std::min(n_held, options_.memory_bytes);
}

void ModelRegistry::on_loaded(Entry& entry, Result<ServedModelPtr> loaded, uint64_t n_needed_bytes) {
  entry.loader.reset();  // has nothing left to do
  entry.failure.reset();
  const bool is_news = n_needed_bytes > entry.n_needed_bytes;
  entry.n_needed_bytes = n_needed_bytes;
  const bool lacks_room = !loaded.ok() && loaded.error().subject == kMemory;
  // Now that its size is known, more of the others may have to go.
  if (lacks_room && is_news && n_needed_bytes <= options_.memory_bytes) {
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
    // The failure of the first model at the start is the server's own, which tells it.
    const bool is_own = !has_served_ && !entries_.empty() && &entry == &entries_.front();
    if (!is_own) spdlog::error("'{}' could not be loaded: {}", entry.source.id, loaded.error().message);
  }
  set_state(entry, loaded.ok() ? State::kReady : State::kFailed);
  tell_waiting(entry,
               loaded.ok() ? std::move(loaded) : Result<ServedModelPtr>(told_failure(entry.source.id, loaded.error())));
  drop_gone();
}

void ModelRegistry::tell_waiting(const Entry& entry, const Result<ServedModelPtr>& outcome) {
  const auto is_other = [&](const Waiting& waiting) { return waiting.entry != &entry; };
  const auto mine = std::stable_partition(waiting_.begin(), waiting_.end(), is_other);
  std::vector<Waiting> called(std::make_move_iterator(mine), std::make_move_iterator(waiting_.end()));
  waiting_.erase(mine, waiting_.end());
  for (const Waiting& waiting : called) waiting.then(outcome);
}

void ModelRegistry::keep_alive(const std::string& id, std::optional<std::chrono::milliseconds> duration) {
  auto* entry = const_cast<Entry*>(find_named(id));
  if (entry != nullptr && entry->state == State::kReady) entry->keep_alive = duration;
}

void ModelRegistry::unload_idle() {
  const auto now = std::chrono::steady_clock::now();
  for_each_entry([&](Entry& entry) {
    if (entry.state != State::kReady || !entry.keep_alive) return;
    const bool is_used = entry.model.use_count() > 1 || entry.model->thread->n_open() > 0;
    if (is_used) entry.last_used = now;
    if (!is_used && now - entry.last_used >= *entry.keep_alive) unload(entry);
  });
  drop_gone();
}

// The model ends, and keeps its prefixes, on a thread of its own.
void ModelRegistry::unload(Entry& entry) {
  const auto leaving = std::make_shared<ServedModelPtr>();
  std::function<void(TaskThread::Listener&)> task = [this, &entry, leaving,
                                                     post_io = options_.post_io](TaskThread::Listener& listener) {
    leaving->reset();
    tell_at_last(listener, [&] { post_io([this, &entry] { on_unloaded(entry); }); });
  };
  PastCounts counts;
  counts.add(*entry.model->loaded);
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
  entry.loader.reset();  // has nothing left to do
  set_state(entry, State::kUnloaded);
  spdlog::info("{} is unloaded", entry.source.id);
  for (Entry& wanted : entries_) {
    const bool is_idle = wanted.state == State::kUnloaded || wanted.state == State::kFailed;
    if (!is_idle || must_wait_for_memory() || std::ranges::count(waiting_, &wanted, &Waiting::entry) == 0) continue;
    if (const Status status = begin_loading(wanted); !status.ok()) tell_waiting(wanted, status.error());
  }
  drop_gone();
}

const char* model_status(const ModelRegistry::Entry& entry) {
  switch (entry.state) {
    case ModelRegistry::State::kLoading:
      return "loading";
    case ModelRegistry::State::kReady:
    case ModelRegistry::State::kUnloading:
      return "loaded";
    case ModelRegistry::State::kUnloaded:
    case ModelRegistry::State::kFailed:
      break;
  }
  return "unloaded";
}

Error told_failure(const std::string& id, const Error& failure) {
  if (failure.code == ErrorCode::kCancelled) {
    return {ErrorCode::kResourceExhausted, "the server is shutting down", "shutdown"};
  }
  const std::string message = fmt::format("the model '{}' could not be loaded; the server's log says why", id);
  if (failure.code == ErrorCode::kResourceExhausted) return {failure.code, message, kOutOfResources};
  return {ErrorCode::kInternal, message, ""};
}

void ModelRegistry::dispatch() {
  for_each_entry([](const Entry& entry) {
    const ServedModelPtr model = entry.model;
    if (model == nullptr) return;
    while (const auto stream = model->thread->next_ready()) {
      // A copy: the call may end the stream, and with it the function.
      if (const auto on_ready = stream->on_ready) on_ready();
    }
  });
}

bool ModelRegistry::has_been_ready() const {
  return !options_.autoload || !options_.preload || has_served_;
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
  for (const std::list<Entry>* list : {&entries_, &leaving_}) {
    for (const Entry& entry : *list) n_open += entry.model != nullptr ? entry.model->thread->n_open() : 0;
  }
  return n_open;
}

void ModelRegistry::drain() {
  for_each_entry([](const Entry& entry) {
    if (entry.model != nullptr) entry.model->thread->drain();
  });
}

}  // namespace realizar::server
