#include "backend/state_store.h"

#include <cstdlib>
#include <cstring>
#include <string>
#include <variant>

namespace realizar {
namespace {

constexpr size_t kLineBytes = 64;

size_t in_whole_lines(size_t n_bytes) {
  return (n_bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
}

}  // namespace

void StateStore::Free::operator()(std::byte* bytes) const {
  std::free(bytes);
}

Status StateStore::create(const CacheLayout& layout) {
  offsets_.assign(layout.layers.size(), {});
  slot_bytes_ = 0;
  for (size_t layer = 0; layer < layout.layers.size(); ++layer) {
    const auto* own = std::get_if<Recurrent>(&layout.layers[layer]);
    if (own == nullptr) continue;
    for (const size_t n_bytes : own->part_bytes) {
      offsets_[layer].push_back(slot_bytes_);
      slot_bytes_ += in_whole_lines(n_bytes);
    }
  }
  const bool overflows = __builtin_mul_overflow(slot_bytes_, size_t{layout.n_states}, &n_bytes_);
  // Zeroed pages that the system maps on first touch.
  memory_.reset(overflows || n_bytes_ == 0 ? nullptr : static_cast<std::byte*>(std::calloc(1, n_bytes_ + kLineBytes)));
  if (overflows || (n_bytes_ > 0 && memory_ == nullptr)) {
    return Error{
        ErrorCode::kResourceExhausted,
        "no memory for " + std::to_string(layout.n_states) + " states of " + std::to_string(slot_bytes_) + " bytes",
        "memory"};
  }
  first_ = memory_ == nullptr ? nullptr : memory_.get() + -reinterpret_cast<uintptr_t>(memory_.get()) % kLineBytes;
  return {};
}

void StateStore::read(StateId slot, std::span<std::byte> bytes) const {
  std::memcpy(bytes.data(), at(slot), slot_bytes_);
}

void StateStore::write(StateId slot, std::span<const std::byte> bytes) const {
  std::memcpy(at(slot), bytes.data(), slot_bytes_);
}

void StateStore::zero(StateId slot) const {
  std::memset(at(slot), 0, slot_bytes_);
}

}  // namespace realizar
