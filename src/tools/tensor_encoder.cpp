#include "tools/tensor_encoder.h"

#include <algorithm>
#include <utility>

#include "base/thread_team.h"
#include "base/try.h"
#include "quant/fit/fit.h"

namespace realizar {
namespace {

constexpr uint64_t kPieceElems = 4 << 20;
constexpr uint64_t kBatchElems = 32 << 10;

}  // namespace

TensorEncoder::TensorEncoder(GgufStream& out, const QuantizeRun& run)
    : out_(out), run_(run), team_(run.n_threads), members_(run.n_threads) {}

Status TensorEncoder::stopped() const {
  if (run_.stop != nullptr && run_.stop->load(std::memory_order_relaxed)) {
    return Error{ErrorCode::kCancelled, "interrupted", ""};
  }
  return {};
}

Status TensorEncoder::copy(const SourceTensor& tensor, uint64_t piece_rows,
                           const std::function<void(uint64_t)>& progress) {
  const uint64_t row_size = tensor.rows->row_size();
  std::vector<std::byte> piece;
  for (uint64_t row = 0, n_rows = tensor.n_rows(); row < n_rows; row += piece_rows) {
    RZ_CHECK_OK(stopped());
    const uint64_t n = std::min(piece_rows, n_rows - row);
    piece.resize(n * row_size);
    RZ_CHECK_OK(tensor.rows->read(row, n, piece.data()));
    RZ_CHECK_OK(check_finite(tensor.name, *tensor.rows, row, piece));
    RZ_CHECK_OK(out_.write(piece));
    tensor.rows->release();
    progress((row + n) * row_size);
  }
  return {};
}

Status TensorEncoder::write(const SourceTensor& tensor, TypeId type, std::span<const float> importance,
                            const std::function<void(uint64_t)>& progress) {
  const uint64_t n_rows = tensor.n_rows(), n_cols = tensor.n_cols();
  const uint64_t piece_rows = std::max<uint64_t>(1, kPieceElems / n_cols);
  if (type == tensor.type()) return copy(tensor, piece_rows, progress);
  const ValueRange range = range_of(type);
  std::vector<std::byte> written, result;
  for (uint64_t row = 0; row < n_rows; row += piece_rows) {
    RZ_CHECK_OK(stopped());
    const Piece piece{
        &tensor, type, importance, row, std::min(piece_rows, n_rows - row), std::max<uint64_t>(1, kBatchElems / n_cols),
        range};
    RZ_CHECK_OK(encode_piece(piece, written, result));
    std::swap(written, result);
    tensor.rows->release();
    progress((row + piece.n_rows) * tensor.rows->row_size());
  }
  return out_.write(written);
}

Status TensorEncoder::encode_piece(const Piece& piece, std::span<const std::byte> to_write,
                                   std::vector<std::byte>& result) {
  const uint64_t result_row = row_bytes(traits(piece.type), piece.tensor->n_cols());
  result.resize(piece.n_rows * result_row);
  const auto n_batches = static_cast<uint32_t>((piece.n_rows + piece.batch_rows - 1) / piece.batch_rows);
  std::vector<std::atomic<uint32_t>> taken(team_.size());
  Status status;
  std::mutex mutex;
  const auto note = [&](Status now) {
    const std::lock_guard lock(mutex);
    if (!now.ok() && status.ok()) status = std::move(now);
  };
  auto body = [&](uint32_t member) {
    if (member == 0) note(out_.write(to_write));
    share_work(taken.data(), n_batches, member, team_.size(), [&](uint32_t batch) {
      const uint64_t row = batch * piece.batch_rows;
      const uint64_t n_rows = std::min(piece.batch_rows, piece.n_rows - row);
      note(encode_rows(piece, piece.first_row + row, n_rows, members_[member], result.data() + row * result_row));
    });
  };
  team_.run(body);
  return status;
}

Status TensorEncoder::encode_rows(const Piece& piece, uint64_t first_row, uint64_t n_rows, Member& member,
                                  std::byte* out) const {
  const SourceTensor& tensor = *piece.tensor;
  const uint64_t n_cols = tensor.n_cols(), n = n_rows * n_cols;
  const uint64_t stored_row = tensor.rows->row_size(), result_row = row_bytes(traits(piece.type), n_cols);
  member.stored.resize(n_rows * stored_row);
  RZ_CHECK_OK(tensor.rows->read(first_row, n_rows, member.stored.data()));
  member.values.resize(n);
  if (!read_finite(tensor.type(), member.stored.data(), member.values.data(), n)) {
    RZ_CHECK_OK(check_finite(tensor.name, *tensor.rows, first_row, member.stored));
  }
  RZ_CHECK_OK(check_range(tensor.name, piece.type, piece.range, n_cols, first_row, std::span(member.values).first(n)));
  const uint64_t mat_rows = tensor.n_rows() / tensor.n_mats();
  for (uint64_t row = 0; row < n_rows; ++row) {
    const uint64_t mat = (first_row + row) / mat_rows;
    const float* weights = piece.importance.empty() ? nullptr : piece.importance.data() + mat * n_cols;
    fit_blocks(piece.type, member.values.data() + row * n_cols, weights, out + row * result_row, n_cols);
  }
  const auto origin = [&](uint64_t row) -> Result<std::vector<float>> {
    const float* values = member.values.data() + (row - first_row) * n_cols;
    return std::vector<float>(values, values + n_cols);
  };
  return check_finite(tensor.name, piece.type, n_cols, first_row, {out, n_rows * result_row}, origin);
}

}  // namespace realizar
