#include "backend/cuda/device/process_exchange.h"

#include <array>
#include <utility>

#include "base/check.h"
#include "base/try.h"

namespace realizar::cuda {
namespace {

// Messages with the same bytes to all other processes, and equally many from each.
class Messages {
 public:
  Messages(Exchange& exchange, std::span<const std::byte> own, std::span<std::byte> all) {
    REQUIRE(exchange.n_ranks() <= kMaxRanks && all.size() == own.size() * exchange.n_ranks());
    for (uint32_t rank = 0; rank < exchange.n_ranks(); ++rank) {
      if (rank == exchange.rank()) continue;
      out_[n_] = {rank, own};
      in_[n_++] = {rank, all.subspan(rank * own.size(), own.size())};
    }
  }
  std::span<const Exchange::Outgoing> out() const { return {out_.data(), n_}; }
  std::span<const Exchange::Incoming> in() const { return {in_.data(), n_}; }

 private:
  std::array<Exchange::Outgoing, kMaxRanks> out_;
  std::array<Exchange::Incoming, kMaxRanks> in_;
  size_t n_ = 0;
};

}  // namespace

std::string ProcessExchange::way_of_sums() const {
  if (!has_way_) return "";
  return nccl_ != nullptr ? "sums by NCCL" : "sums by way of the host's memory";
}

Status ProcessExchange::reserve(size_t n_floats) {
  if (n_floats <= n_host_floats_) return {};
  if (host_ != nullptr) device_.free_pinned(std::exchange(host_, nullptr));
  n_host_floats_ = 0;
  RZ_TRY(void* memory, device_.allocate_pinned(n_floats * sizeof(float)));
  host_ = static_cast<float*>(memory);
  n_host_floats_ = n_floats;
  return {};
}

std::span<float> ProcessExchange::host(size_t first, size_t n_floats) {
  REQUIRE(first + n_floats <= n_host_floats_);
  return {host_ + first, n_floats};
}

// The wait also covers earlier copies out of the pinned memory.
Status ProcessExchange::fetch_rows(std::span<const float> rows, float* to) {
  if (!rows.empty()) device_.download(to, rows.data(), rows.size_bytes());
  return device_.wait();
}

Status ProcessExchange::gather(std::span<const Part> parts, size_t n_floats) {
  REQUIRE(parts.size() == 1 && parts.front().device == &device_);
  if (!has_way_) RZ_CHECK_OK(choose_way());
  if (nccl_ == nullptr) return gather_on_host(parts.front(), n_floats);
  device_.attach();
  return nccl_->gather(parts, n_floats);
}

Status ProcessExchange::gather_on_host(const Part& part, size_t n_floats) {
  const std::span<float> all = host(0, n_processes() * n_floats);
  const std::span<float> own = all.subspan(exchange_.rank() * n_floats, n_floats);
  RZ_CHECK_OK(fetch_rows({part.from, n_floats}, own.data()));
  const Messages messages(exchange_, std::as_bytes(own), std::as_writable_bytes(all));
  RZ_CHECK_OK(exchange_.transfer(messages.out(), messages.in()));
  device_.upload(part.to, all.data(), all.size_bytes());
  return {};
}

Status ProcessExchange::collect(const CollectOp& op, uint32_t n_rows, std::span<const float> part,
                                std::span<float> out) {
  const bool is_first = exchange_.rank() == 0;
  const std::span<float> own = host(0, part.size()), all = host(part.size(), is_first ? out.size() : 0);
  RZ_CHECK_OK(fetch_rows(part, own.data()));
  rows_.collect(op, n_rows, own.data(), all.data());
  RZ_CHECK_OK(rows_.take_status());
  if (!all.empty()) device_.upload(out.data(), all.data(), all.size_bytes());
  return {};
}

Status ProcessExchange::send(uint32_t to, std::span<const float> rows) {
  const std::span<float> own = host(0, rows.size());
  RZ_CHECK_OK(fetch_rows(rows, own.data()));
  rows_.send(to, own);
  return rows_.take_status();
}

Status ProcessExchange::receive(uint32_t from, std::span<float> rows) {
  const std::span<float> own = host(0, rows.size());
  RZ_CHECK_OK(fetch_rows({}, nullptr));
  rows_.receive(from, own);
  RZ_CHECK_OK(rows_.take_status());
  if (!rows.empty()) device_.upload(rows.data(), own.data(), own.size_bytes());
  return {};
}

Status ProcessExchange::check() {
  if (exchange_.is_lost()) {
    if (nccl_ != nullptr) nccl_->abort();
    return exchange_.error();
  }
  return nccl_ != nullptr ? nccl_->check() : Status();
}

// At the first sum, since all processes reach it, while a single one may fail to load or compile.
Status ProcessExchange::choose_way() {
  RZ_TRY(const bool all_try, all_say(tries_nccl_ && has_nccl()));
  if (all_try) RZ_CHECK_OK(try_nccl());
  has_way_ = true;
  return {};
}

// NCCL refuses unsupported connections, such as two processes on one GPU; sums then go through host memory.
Status ProcessExchange::try_nccl() {
  NcclId id{};
  if (exchange_.rank() == 0) id = make_nccl_id();
  std::array<NcclId, kMaxRanks> ids{};
  const auto all = std::span(ids).first(n_processes());
  const Messages messages(exchange_, std::as_bytes(std::span(&id, 1)), std::as_writable_bytes(all));
  RZ_CHECK_OK(exchange_.transfer(messages.out(), messages.in()));
  if (exchange_.rank() != 0) id = ids[0];
  device_.attach();
  auto joined = join_nccl(id, exchange_.rank(), n_processes());
  RZ_TRY(const bool all_joined, all_say(joined.ok()));
  if (all_joined) nccl_ = std::move(*joined);
  if (!all_joined && joined.ok()) (*joined)->abort();
  return {};
}

Result<bool> ProcessExchange::all_say(bool own) {
  const auto own_byte = std::byte{own};
  std::array<std::byte, kMaxRanks> all;
  all.fill(own_byte);
  const auto bytes = std::span(all).first(n_processes());
  const Messages messages(exchange_, std::span(&own_byte, 1), bytes);
  RZ_CHECK_OK(exchange_.transfer(messages.out(), messages.in()));
  return std::ranges::find(bytes, std::byte{0}) == bytes.end();
}

}  // namespace realizar::cuda
