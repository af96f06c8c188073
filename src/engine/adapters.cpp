#include "engine/adapters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "backend/backend.h"
#include "base/try.h"
#include "model/adapter_file.h"
#include "realizar/request.h"

namespace realizar::engine {
namespace {

// Writing one part takes about as long as a new request may wait.
constexpr size_t kFloatsAtOnce = size_t{8} << 20;
constexpr size_t kMaxNameBytes = 256;

}  // namespace

AdapterHold& AdapterHold::operator=(AdapterHold&& other) noexcept {
  std::swap(owner_, other.owner_);
  std::swap(in_batch_, other.in_batch_);
  std::swap(fingerprint_, other.fingerprint_);
  std::swap(is_running_, other.is_running_);
  return *this;
}

AdapterHold::~AdapterHold() {
  if (owner_ == nullptr) return;
  set_running(false);
  owner_->users_[in_batch_.slot].n.fetch_sub(1, std::memory_order_release);
}

void AdapterHold::set_running(bool is_running) {
  if (owner_ == nullptr || is_running == is_running_) return;
  is_running_ = is_running;
  std::atomic<uint32_t>& n_running = owner_->users_[in_batch_.slot].n_running;
  if (is_running)
    n_running.fetch_add(1, std::memory_order_relaxed);
  else
    n_running.fetch_sub(1, std::memory_order_relaxed);
}

AdapterLoad::AdapterLoad(Adapters& owner, uint32_t slot, std::unique_ptr<const Adapter> adapter)
    : owner_(&owner), slot_(slot), adapter_(std::move(adapter)) {}

AdapterLoad::~AdapterLoad() {
  if (owner_ != nullptr) owner_->abandon(slot_);
}

Adapters::Adapters(const Model& model, Backend& backend)
    : model_(model),
      targets_(model.adapter_targets()),
      backend_(backend),
      ranks_(targets_.n_parts(), std::vector<float>(targets_.slots().n_slots)),
      slots_(targets_.slots().n_slots),
      users_(targets_.slots().n_slots) {}

const Adapters::Slot* Adapters::find(std::string_view name) const {
  const auto found = std::ranges::find_if(
      slots_, [&](const Slot& slot) { return slot.state == State::kReady && slot.info.name == name; });
  return found == slots_.end() ? nullptr : &*found;
}

// The acquire load makes everything visible that ended requests did to the slot.
bool Adapters::has_users(const Slot& slot) const {
  return users_[static_cast<size_t>(&slot - slots_.data())].n.load(std::memory_order_acquire) > 0;
}

bool Adapters::is_free(const Slot& slot) const {
  return slot.state == State::kFree || (slot.state == State::kLeaving && !has_users(slot));
}

Error Adapters::not_there(std::string_view name) const {
  return not_found(fmt::format("no adapter is called '{}'", name.substr(0, kMaxNameBytes)), "lora");
}

Result<std::unique_ptr<AdapterLoad>> Adapters::read(const AdapterSource& source) {
  if (slots_.empty()) return begin_load(source, nullptr);
  RZ_TRY(Adapter adapter, read_adapter(source.path, model_));
  return begin_load(source, std::make_unique<const Adapter>(std::move(adapter)));
}

Status Adapters::load(const AdapterSource& source) {
  RZ_TRY(const auto load, read(source));
  while (true) {
    RZ_TRY(const bool is_done, write_some(*load));
    if (is_done) return {};
  }
}

Result<std::unique_ptr<AdapterLoad>> Adapters::begin_load(const AdapterSource& source,
                                                          std::unique_ptr<const Adapter> adapter) {
  if (source.name.empty() || source.name.size() > kMaxNameBytes) {
    return invalid_argument(
        fmt::format("lora: expected a name of 1 to {} bytes, actual {}", kMaxNameBytes, source.name.size()), "lora");
  }
  if (!std::isfinite(source.scale)) return invalid_argument("lora: expected a finite scale", "scale");
  const std::lock_guard lock(mutex_);
  if (slots_.empty()) return unsupported("the model was loaded without room for adapters", "max_loras");
  const bool is_taken = std::ranges::any_of(slots_, [&](const Slot& slot) {
    return (slot.state == State::kReady || slot.state == State::kLoading) && slot.info.name == source.name;
  });
  if (is_taken) return invalid_argument(fmt::format("an adapter is called '{}' already", source.name), "lora");
  const auto free = std::ranges::find_if(slots_, [this](const Slot& slot) { return is_free(slot); });
  if (free == slots_.end()) {
    return Error{ErrorCode::kResourceExhausted,
                 fmt::format("all {} slots for adapters are taken, by those that are loaded or that requests still use",
                             slots_.size()),
                 "max_loras"};
  }
  *free = {.state = State::kLoading,
           .info = {source.name, source.path, source.scale, adapter->rank},
           .fingerprint = adapter->fingerprint,
           .order = n_loaded_++};
  const auto slot = static_cast<uint32_t>(free - slots_.begin());
  return std::make_unique<AdapterLoad>(*this, slot, std::move(adapter));
}

Result<bool> Adapters::write_some(AdapterLoad& load) {
  size_t n_left = kFloatsAtOnce;
  while (load.n_written_ < targets_.n_parts() && n_left > 0) {
    const size_t part = load.n_written_++;
    RZ_CHECK_OK(targets_.write(backend_, load.slot_, *load.adapter_, part, ranks_[part]));
    const AdapterPair& pair = load.adapter_->pairs[part];
    n_left -= std::min(n_left, pair.down.size() + pair.up.size());
  }
  if (load.n_written_ < targets_.n_parts()) return false;
  const std::lock_guard lock(mutex_);
  slots_[load.slot_].state = State::kReady;
  load.owner_ = nullptr;
  return true;
}

Status Adapters::remove(std::string_view name) {
  const std::lock_guard lock(mutex_);
  Slot* slot = find(name);
  if (slot == nullptr) return not_there(name);
  slot->state = State::kLeaving;
  if (default_name_ == name) default_name_.clear();
  return {};
}

Status Adapters::set_default(std::string_view name, std::optional<float> scale) {
  const std::lock_guard lock(mutex_);
  if (!name.empty() && find(name) == nullptr) return not_there(name);
  if (scale && !std::isfinite(*scale)) return invalid_argument("lora: expected a finite scale", "scale");
  default_name_ = name;
  default_scale_ = scale;
  return {};
}

Result<AdapterHold> Adapters::hold(const Request& request) {
  AdapterHold hold;
  const std::lock_guard lock(mutex_);
  const std::string& name = request.adapter ? *request.adapter : default_name_;
  if (name.empty()) return hold;
  Slot* slot = find(name);
  if (slot == nullptr) return not_there(name);
  const std::optional<float> wanted = request.adapter || request.adapter_scale ? request.adapter_scale : default_scale_;
  const float scale = wanted.value_or(slot->info.scale);
  if (!std::isfinite(scale)) return invalid_argument("lora: expected a finite scale", "adapter_scale");
  if (scale == 0) return hold;
  const auto slot_idx = static_cast<uint32_t>(slot - slots_.data());
  users_[slot_idx].n.fetch_add(1, std::memory_order_relaxed);
  hold.owner_ = this;
  hold.in_batch_ = {slot_idx, scale};
  hold.fingerprint_ = slot->fingerprint;
  return hold;
}

void Adapters::abandon(uint32_t slot) {
  const std::lock_guard lock(mutex_);
  slots_[slot].state = State::kFree;
}

// Requires the mutex. Loaded adapters, and those being unloaded.
std::vector<const Adapters::Slot*> Adapters::slots_in_order() const {
  std::vector<const Slot*> taken;
  for (const Slot& slot : slots_) {
    if (slot.state != State::kLoading && !is_free(slot)) taken.push_back(&slot);
  }
  std::ranges::sort(taken, {}, &Slot::order);
  return taken;
}

std::vector<AdapterUse> Adapters::uses() const {
  const std::lock_guard lock(mutex_);
  std::vector<AdapterUse> all;
  for (const Slot* slot : slots_in_order()) {
    const Users& users = users_[static_cast<size_t>(slot - slots_.data())];
    const uint32_t n_running = users.n_running.load(std::memory_order_relaxed);
    const uint32_t n = users.n.load(std::memory_order_relaxed);
    all.push_back({slot->info.name, n_running, n - std::min(n, n_running)});
  }
  return all;
}

std::vector<AdapterInfo> Adapters::list() const {
  const std::lock_guard lock(mutex_);
  std::vector<AdapterInfo> all;
  for (const Slot* slot : slots_in_order()) {
    if (slot->state != State::kReady) continue;
    AdapterInfo info = slot->info;
    info.is_default = info.name == default_name_;
    if (info.is_default) info.default_scale = default_scale_.value_or(info.scale);
    all.push_back(std::move(info));
  }
  return all;
}

}  // namespace realizar::engine
