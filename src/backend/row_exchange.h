// Runs the operations of exchange_ops.h: rows of activations through an Exchange. After an error it does nothing until
// the step ends, and the rows are of no use.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "backend/exchange.h"
#include "backend/exchange_ops.h"

namespace realizar {

inline constexpr uint32_t kMaxRanks = 64;

class RowExchange {
 public:
  // `exchange`: null where a program has no such operations; it must outlive this.
  explicit RowExchange(Exchange* exchange) : exchange_(exchange) {}

  uint32_t rank() const { return exchange_->rank(); }
  uint32_t n_ranks() const { return exchange_->n_ranks(); }
  bool is_lost() const { return exchange_ != nullptr && exchange_->is_lost(); }
  // The first error since it was last asked for. Errors: those of Exchange.
  Status take_status() { return std::exchange(status_, Status()); }

  // A join has two halves, with additions in between: begin_join brings every rank's part of what this rank has to add,
  // parts[r * range.n + i] for out[range.first + i], and end_join brings the sums that others have made. Few numbers,
  // or those of two ranks, are all added by everyone; of more each rank adds a slice. The bits are the same.
  Sharing::Range begin_join(std::span<const float> part, std::span<float> parts);
  void end_join(std::span<float> out);
  // The size of `parts` for a join of at most n_floats.
  size_t join_floats(size_t n_floats) const;

  // As CollectOp says; out is read on rank 0 alone.
  void collect(const CollectOp& op, uint32_t n_rows, const float* part, float* out);
  void send(uint32_t to, std::span<const float> rows);
  void receive(uint32_t from, std::span<float> rows);

 private:
  bool joins_by_slices(size_t n_floats) const;
  void transfer(std::span<const Exchange::Outgoing> out, std::span<const Exchange::Incoming> in);

  Exchange* exchange_;
  Status status_;
};

}  // namespace realizar
