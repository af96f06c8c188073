#include "server/models/model_list.h"

#include <algorithm>
#include <utility>

#include "base/printable.h"
#include "engine/adapters.h"
#include "engine/engine.h"

namespace realizar::server {
namespace {

void dispatch_streams(const ModelEntry& entry) {
  const ServedModelPtr model = entry.model;  // the calls may take it away
  if (model == nullptr) return;
  while (const auto stream = model->thread->next_ready()) {
    // A copy: the call may end the stream, and with it the function.
    if (const auto on_ready = stream->on_ready) on_ready();
  }
}

}  // namespace

const char* model_status(const ModelEntry& entry) {
  if (entry.state == ModelEntry::State::kLoading) return "loading";
  const bool is_loaded = entry.state == ModelEntry::State::kReady || entry.state == ModelEntry::State::kUnloading;
  return is_loaded ? "loaded" : "unloaded";
}

void PastCounts::take(const LoadedModel& model) {
  counters.add_counts(model.engine->counters());
  BackendNumbers numbers = numbers_of(*model.backend);
  devices = numbers.device_names();
  of_each = std::move(numbers.devices);
}

void PastCounts::add(const PastCounts& other) {
  counters.add_counts(other.counters);
  devices = other.devices;
  for (const DeviceNumbers& one : other.of_each) {
    auto own = std::ranges::find(of_each, one.name, &DeviceNumbers::name);
    if (own == of_each.end()) own = of_each.insert(own, DeviceNumbers{.name = one.name});
    own->n_launches += one.n_launches;
    own->n_captures += one.n_captures;
    own->n_replays += one.n_replays;
    own->n_graph_failures += one.n_graph_failures;
    own->n_streamed_bytes += one.n_streamed_bytes;
  }
}

const ModelEntry* ModelList::find_named(const std::string& id) const {
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

std::vector<std::string> ModelList::adapters_of(const Entry& entry) const {
  std::vector<std::string> names;
  if (entry.model != nullptr) {
    for (AdapterInfo& info : entry.model->loaded->engine->adapters().list()) names.push_back(std::move(info.name));
  } else {
    for (const AdapterSource& adapter : entry.source.adapters) names.push_back(adapter.name);
  }
  return names;
}

ModelList::Named ModelList::resolve(const std::string& id) const {
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
  const bool has_room_for_adapters = has_adapter_slots_ || !only.source.adapters.empty();
  const bool wants_adapter = has_room_for_adapters && !base.empty() && find_named(base) == &only;
  const bool takes_any = entries_.size() == 1 && !strict_names_ && !wants_adapter;
  return {takes_any ? &only : nullptr, ""};
}

Error ModelList::no_such_model(const std::string& id) const {
  return not_found("there is no model '" + shown(id) + "'; GET /v1/models lists the existing ones", "model");
}

void ModelList::dispatch() {
  for (const std::list<Entry>* list : {&entries_, &leaving_}) {
    for (const Entry& entry : *list) dispatch_streams(entry);
  }
}

bool ModelList::any_lost() const {
  return std::ranges::any_of(entries_, [](const Entry& entry) {
    return entry.model != nullptr && entry.model->loaded->engine->counters().is_device_lost;
  });
}

bool ModelList::any_stalled(std::chrono::milliseconds patience) const {
  return std::ranges::any_of(entries_, [&](const Entry& entry) {
    return entry.model != nullptr && entry.model->thread->is_stalled(patience);
  });
}

uint32_t ModelList::n_open() const {
  uint32_t n_open = 0;
  for (const std::list<Entry>* list : {&entries_, &leaving_}) {
    for (const Entry& entry : *list) n_open += entry.model != nullptr ? entry.model->thread->n_open() : 0;
  }
  return n_open;
}

void ModelList::drain() {
  for (const Entry* entry : all()) {
    if (entry->model != nullptr) entry->model->thread->drain();
  }
}

std::vector<ModelEntry*> ModelList::all() {
  std::vector<Entry*> all;
  for (Entry& entry : entries_) all.push_back(&entry);
  for (Entry& entry : leaving_) all.push_back(&entry);
  return all;
}

std::list<ModelEntry>::iterator ModelList::add_entry(ModelSource source, std::list<Entry>::iterator before) {
  Entry entry;
  entry.created = time_of(source.path);
  entry.source = std::move(source);
  return entries_.insert(before, std::move(entry));
}

void ModelList::move_out(std::list<Entry>::iterator entry) {
  leaving_.splice(leaving_.end(), entries_, entry);
  if (on_change_) on_change_({"model_remove", entry->source.id, "", {}});
}

void ModelList::drop_gone() {
  std::erase_if(leaving_, [](const Entry& entry) {
    const bool is_idle = entry.state == State::kUnloaded || entry.state == State::kFailed;
    return is_idle && entry.loader == nullptr;
  });
}

void ModelList::set_state(Entry& entry, State state) {
  entry.state = state;
  const bool is_told = on_change_ != nullptr && state != State::kUnloading;
  if (is_told) on_change_({"model_status", entry.source.id, model_status(entry), {}});
}

// Reported in steps that a reader can follow.
void ModelList::set_progress(Entry& entry, double progress) {
  constexpr double kSteps = 20;
  const bool is_step = static_cast<int>(progress * kSteps) > static_cast<int>(entry.progress * kSteps);
  entry.progress = progress;
  if (is_step && on_change_) on_change_({"model_status", entry.source.id, model_status(entry), progress});
}

}  // namespace realizar::server
