// Runs the operations of exchange_ops.h: exchanges rows of activations through an Exchange. After an error it does
// nothing until the step ends, and the rows are undefined.
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
  // `exchange`: null if no program has such operations; it must outlive this.
  explicit RowExchange(Exchange* exchange) : exchange_(exchange) {}

  uint32_t rank() const { return exchange_->rank(); }
  uint32_t n_ranks() const { return exchange_->n_ranks(); }
  bool is_lost() const { return exchange_ != nullptr && exchange_->is_lost(); }
  // The first error since the last call. Errors: those of Exchange.
  Status take_status() { return std::exchange(status_, Status()); }

  // A join has two halves, with additions in between: begin_join receives every rank's part of the range that this rank
  // adds, parts[r * range.n + i] for out[range.first + i], and end_join receives the other ranks' sums. Small joins and
  // joins of two ranks are added in full by every rank; in large ones each rank adds a slice. The bits are the same.
  Sharing::Range begin_join(std::span<const float> part, std::span<float> parts);
  void end_join(std::span<float> out);
  // The size of `parts` for joins of at most n_floats.
  size_t join_floats(size_t n_floats) const;

  // CollectOp; out is read only on rank 0.
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
