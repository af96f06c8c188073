#include "backend/row_exchange.h"

#include <algorithm>
#include <array>

#include "base/check.h"

namespace realizar {
namespace {

constexpr size_t kSliceFloats = 16384;  // larger joins are worth a second message
constexpr uint32_t kSliceUnit = 16;     // floats per cache line

Sharing slices_of(size_t n_floats) {
  return {static_cast<uint32_t>(n_floats), kSliceUnit};
}

// A message to each other rank, and one from each.
struct Messages {
  std::array<Exchange::Outgoing, kMaxRanks> out;
  std::array<Exchange::Incoming, kMaxRanks> in;
  size_t n_out = 0, n_in = 0;

  void send(uint32_t to, std::span<const float> rows) { out[n_out++] = {to, std::as_bytes(rows)}; }
  void receive(uint32_t from, std::span<float> rows) { in[n_in++] = {from, std::as_writable_bytes(rows)}; }
};

}  // namespace

bool RowExchange::joins_by_slices(size_t n_floats) const {
  return n_ranks() > 2 && n_floats > kSliceFloats;
}

size_t RowExchange::join_floats(size_t n_floats) const {
  if (n_ranks() <= 2) return n_ranks() * n_floats;
  return std::max(n_ranks() * std::min(n_floats, kSliceFloats), n_floats + size_t{2} * kSliceUnit * n_ranks());
}

void RowExchange::transfer(std::span<const Exchange::Outgoing> out, std::span<const Exchange::Incoming> in) {
  if (status_.ok()) status_ = exchange_->transfer(out, in);
}

Sharing::Range RowExchange::begin_join(std::span<const float> part, std::span<float> parts) {
  const uint32_t own = rank();
  const auto n_floats = static_cast<uint32_t>(part.size());
  const bool by_slices = joins_by_slices(part.size());
  const auto range_of = [&](uint32_t r) {
    return by_slices ? slices_of(part.size()).of(r, n_ranks()) : Sharing::Range{0, n_floats};
  };
  const Sharing::Range range = range_of(own);
  REQUIRE(n_ranks() <= kMaxRanks && size_t{n_ranks()} * range.n <= parts.size());
  Messages messages;
  for (uint32_t r = 0; r < n_ranks(); ++r) {
    const std::span<float> to = parts.subspan(size_t{r} * range.n, range.n);
    if (r == own) {
      std::ranges::copy(part.subspan(range.first, range.n), to.begin());
      continue;
    }
    const Sharing::Range theirs = range_of(r);
    messages.send(r, part.subspan(theirs.first, theirs.n));
    messages.receive(r, to);
  }
  transfer({messages.out.data(), messages.n_out}, {messages.in.data(), messages.n_in});
  return range;
}

void RowExchange::end_join(std::span<float> out) {
  if (!joins_by_slices(out.size())) return;
  const Sharing slices = slices_of(out.size());
  const Sharing::Range own = slices.of(rank(), n_ranks());
  Messages messages;
  for (uint32_t r = 0; r < n_ranks(); ++r) {
    if (r == rank()) continue;
    const Sharing::Range theirs = slices.of(r, n_ranks());
    messages.send(r, out.subspan(own.first, own.n));
    messages.receive(r, out.subspan(theirs.first, theirs.n));
  }
  transfer({messages.out.data(), messages.n_out}, {messages.in.data(), messages.n_in});
}

// Row by row, so that parts land at their final addresses.
void RowExchange::collect(const CollectOp& op, uint32_t n_rows, const float* part, float* out) {
  const Sharing::Range own = op.cols.of(rank(), n_ranks());
  for (uint32_t row = 0; row < n_rows; ++row) {
    const std::span<const float> from(part + size_t{row} * own.n, own.n);
    Messages messages;
    if (rank() != 0) {
      messages.send(0, from);
    } else {
      float* to = out + size_t{row} * op.cols.n;
      std::ranges::copy(from, to);
      for (uint32_t r = 1; r < n_ranks(); ++r) {
        const Sharing::Range theirs = op.cols.of(r, n_ranks());
        messages.receive(r, {to + theirs.first, theirs.n});
      }
    }
    transfer({messages.out.data(), messages.n_out}, {messages.in.data(), messages.n_in});
  }
}

void RowExchange::send(uint32_t to, std::span<const float> rows) {
  const Exchange::Outgoing message{to, std::as_bytes(rows)};
  transfer({&message, 1}, {});
}

void RowExchange::receive(uint32_t from, std::span<float> rows) {
  const Exchange::Incoming message{from, std::as_writable_bytes(rows)};
  transfer({}, {&message, 1});
}

}  // namespace realizar
