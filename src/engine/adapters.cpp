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

// Parts are written for about as long as a request that comes may wait.
constexpr size_t kFloatsAtOnce = size_t{8} << 20;
constexpr size_t kMaxNameBytes = 256;

}  // namespace

AdapterHold& AdapterHold::operator=(AdapterHold&& other) noexcept {
  std::swap(owner_, other.owner_);
  std::swap(in_batch_, other.in_batch_);
  std::swap(fingerprint_, other.fingerprint_);
  return *this;
}

AdapterHold::~AdapterHold() {
  if (owner_ != nullptr) owner_->let_go(in_batch_.place);
}

AdapterLoad::AdapterLoad(Adapters& owner, uint32_t place, std::unique_ptr<const Adapter> adapter)
    : owner_(&owner), place_(place), adapter_(std::move(adapter)) {}

AdapterLoad::~AdapterLoad() {
  if (owner_ != nullptr) owner_->abandon(place_);
}

Adapters::Adapters(const Model& model, Backend& backend)
    : model_(model),
      targets_(model.adapter_targets()),
      backend_(backend),
      ranks_(targets_.n_parts(), std::vector<float>(targets_.room().n_places)),
      places_(targets_.room().n_places) {}

const Adapters::Place* Adapters::find(std::string_view name) const {
  const auto found = std::ranges::find_if(
      places_, [&](const Place& place) { return place.state == State::kReady && place.info.name == name; });
  return found == places_.end() ? nullptr : &*found;
}

Error Adapters::not_there(std::string_view name) const {
  return not_found(fmt::format("no adapter is called '{}'", name.substr(0, kMaxNameBytes)), "lora");
}

Result<std::unique_ptr<AdapterLoad>> Adapters::read(const AdapterSource& source) {
  if (places_.empty()) return begin_load(source, nullptr);
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
  if (places_.empty()) return unsupported("the model was loaded without room for adapters", "max_loras");
  const bool is_taken = std::ranges::any_of(places_, [&](const Place& place) {
    return (place.state == State::kReady || place.state == State::kLoading) && place.info.name == source.name;
  });
  if (is_taken) return invalid_argument(fmt::format("an adapter is called '{}' already", source.name), "lora");
  const auto free = std::ranges::find(places_, State::kFree, &Place::state);
  if (free == places_.end()) {
    return Error{
        ErrorCode::kResourceExhausted,
        fmt::format("all {} places for adapters are taken, by those that are loaded or that requests still use",
                    places_.size()),
        "max_loras"};
  }
  *free = {.state = State::kLoading,
           .info = {source.name, source.path, source.scale, adapter->rank},
           .fingerprint = adapter->fingerprint,
           .order = n_loaded_++};
  const auto place = static_cast<uint32_t>(free - places_.begin());
  return std::make_unique<AdapterLoad>(*this, place, std::move(adapter));
}

Result<bool> Adapters::write_some(AdapterLoad& load) {
  size_t n_left = kFloatsAtOnce;
  while (load.n_written_ < targets_.n_parts() && n_left > 0) {
    const size_t part = load.n_written_++;
    RZ_CHECK_OK(targets_.write(backend_, load.place_, *load.adapter_, part, ranks_[part]));
    const AdapterPair& pair = load.adapter_->pairs[part];
    n_left -= std::min(n_left, pair.down.size() + pair.up.size());
  }
  if (load.n_written_ < targets_.n_parts()) return false;
  const std::lock_guard lock(mutex_);
  places_[load.place_].state = State::kReady;
  load.owner_ = nullptr;
  return true;
}

Status Adapters::remove(std::string_view name) {
  const std::lock_guard lock(mutex_);
  Place* place = find(name);
  if (place == nullptr) return not_there(name);
  place->state = place->n_users > 0 ? State::kLeaving : State::kFree;
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
  Place* place = find(name);
  if (place == nullptr) return not_there(name);
  const std::optional<float> wanted = request.adapter || request.adapter_scale ? request.adapter_scale : default_scale_;
  const float scale = wanted.value_or(place->info.scale);
  if (!std::isfinite(scale)) return invalid_argument("lora: expected a finite scale", "adapter_scale");
  if (scale == 0) return hold;
  ++place->n_users;
  hold.owner_ = this;
  hold.in_batch_ = {static_cast<uint32_t>(place - places_.data()), scale};
  hold.fingerprint_ = place->fingerprint;
  return hold;
}

void Adapters::let_go(uint32_t place) {
  const std::lock_guard lock(mutex_);
  Place& own = places_[place];
  if (--own.n_users == 0 && own.state == State::kLeaving) own.state = State::kFree;
}

void Adapters::abandon(uint32_t place) {
  const std::lock_guard lock(mutex_);
  places_[place].state = State::kFree;
}

std::vector<AdapterInfo> Adapters::list() const {
  const std::lock_guard lock(mutex_);
  std::vector<const Place*> ready;
  for (const Place& place : places_) {
    if (place.state == State::kReady) ready.push_back(&place);
  }
  std::ranges::sort(ready, {}, &Place::order);
  std::vector<AdapterInfo> all;
  for (const Place* place : ready) {
    AdapterInfo info = place->info;
    info.is_default = info.name == default_name_;
    if (info.is_default) info.default_scale = default_scale_.value_or(info.scale);
    all.push_back(std::move(info));
  }
  return all;
}

}  // namespace realizar::engine
