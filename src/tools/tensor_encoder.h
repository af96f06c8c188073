// Converts tensors to other types, piece by piece: the team's threads process rows of one piece while the previous one
// is written. Memory: two pieces of the result, the pages of one piece of the source, and a few rows per thread.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "base/thread_team.h"
#include "tools/finite_rows.h"
#include "tools/gguf_stream.h"
#include "tools/quantize.h"

namespace realizar {

class TensorEncoder {
 public:
  // All must outlive it.
  TensorEncoder(GgufStream& out, const QuantizeRun& run);

  // importance: [n_mats, n_cols] for the tensor, or empty. progress: bytes of the tensor in the source that are done.
  Status write(const SourceTensor& tensor, TypeId type, std::span<const float> importance,
               const std::function<void(uint64_t)>& progress);

 private:
  // The buffers of one thread, and the rows that it processes.
  struct Member {
    std::vector<std::byte> stored;
    std::vector<float> values;
  };
  struct Piece {
    const SourceTensor* tensor;
    TypeId type;
    std::span<const float> importance;
    uint64_t first_row, n_rows;
    uint64_t batch_rows;  // rows that a thread processes at a time
    ValueRange range;     // of the type
  };

  Status copy(const SourceTensor& tensor, uint64_t piece_rows, const std::function<void(uint64_t)>& progress);
  Status encode_piece(const Piece& piece, std::span<const std::byte> to_write, std::vector<std::byte>& result);
  Status encode_rows(const Piece& piece, uint64_t first_row, uint64_t n_rows, Member& member, std::byte* out) const;
  Status stopped() const;

  GgufStream& out_;
  const QuantizeRun& run_;
  ThreadTeam team_;
  std::vector<Member> members_;
};

}  // namespace realizar
