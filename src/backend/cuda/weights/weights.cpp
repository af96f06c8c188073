#include "backend/cuda/weights/weights.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>
#include <utility>

#include "backend/cuda/weights/repack.h"
#include "backend/source_rows.h"
#include "base/check.h"
#include "base/try.h"
#include "quant/finite.h"
#include "quant/type_table.h"

namespace realizar::cuda {
namespace {

constexpr size_t kStagingBytes = size_t{16} << 20;  // repacked rows per upload

// Copies a row of a plain type, padded with zeros to row_bytes.
void copy_plain_row(const MatrixSource& source, const MatrixPart& part, const SourceRows& rows, uint32_t mat,
                    uint32_t r, size_t row_bytes, std::byte* to) {
  const size_t n_bytes = traits(source.type).block_bytes;
  std::fill(to + part.n_cols * n_bytes, to + row_bytes, std::byte{0});
  if (!source.transposed) {
    std::memcpy(to, rows.row(mat, r) + part.first_col * n_bytes, part.n_cols * n_bytes);
    return;
  }
  for (uint32_t c = 0; c < part.n_cols; ++c) {
    std::memcpy(to + c * n_bytes, rows.element(mat, r, part.first_col + c, n_bytes), n_bytes);
  }
}

// `scales`: of a whole row; null: 1. The part starts at the first column of a scale.
void copy_scales(const float* scales, const MatrixPart& part, std::byte* to) {
  constexpr float kOne = 1.0f;
  const uint32_t first = part.first_col / kF8ScaleCols;
  for (uint32_t i = 0; i < f8_n_scales(part.n_cols); ++i) {
    std::memcpy(to + i * sizeof kOne, scales == nullptr ? &kOne : scales + first + i, sizeof kOne);
  }
}

}  // namespace

Result<void*> Weights::allocate(size_t n_bytes) {
  return n_bytes == 0 ? Result<void*>(nullptr) : arena_.take(n_bytes);
}

// Weights outside layers must be resident; layers if so configured and, unless the whole model is known to fit, if they
// leave room for the two buffers of streamed ones.
bool Weights::is_resident(const MatrixSource& source, std::span<const size_t> plane_bytes) {
  if (source.layer < 0 || source.is_writable) return true;
  if (source.layer != layer_) layer_bytes_ = 0;
  layer_ = source.layer;
  for (const size_t n_bytes : plane_bytes) layer_bytes_ += aligned_bytes(n_bytes);
  max_layer_bytes_ = std::max(max_layer_bytes_, layer_bytes_);
  if (room_.n_gpu_layers) return static_cast<uint32_t>(source.layer) < *room_.n_gpu_layers;
  const size_t wanted = arena_.n_allocated_with(plane_bytes) + (room_.fits_whole ? 0 : 2 * max_layer_bytes_);
  is_full_ = is_full_ || wanted > room_.n_bytes;
  return !is_full_;
}

Status Weights::place_resident(Planes& planes, size_t n_rows) {
  for (int i = 0; i < kPlanes; ++i) {
    RZ_TRY(void* memory, allocate(planes.row_bytes[i] * n_rows));
    planes.at[i] = static_cast<std::byte*>(memory);
  }
  return {};
}

Status Weights::place_on_host(Planes& planes, size_t n_rows) {
  for (int i = 0; i < kPlanes; ++i) {
    const size_t n_bytes = planes.row_bytes[i] * n_rows;
    if (n_bytes == 0) continue;
    RZ_TRY(void* memory, device_.allocate_pinned(n_bytes));
    planes.at[i] = static_cast<std::byte*>(memory);
    n_host_bytes_ += n_bytes;
  }
  return {};
}

// The planes are contiguous in host memory, so that one copy transfers them.
Result<Weights::Stored> Weights::place_streamed(const MatrixSource& source, Planes& planes, size_t n_rows) {
  Stored stored{};
  size_t n_bytes = 0;
  for (int i = 0; i < kPlanes; ++i) {
    stored.offsets[i] = n_bytes;
    n_bytes += aligned_bytes(planes.row_bytes[i] * n_rows);
  }
  RZ_TRY(stored.place, stream_.add(source.layer != last_streamed_layer_, n_bytes));
  last_streamed_layer_ = source.layer;
  n_streamed_bytes_ += n_bytes;
  for (int i = 0; i < kPlanes; ++i) {
    const bool is_there = planes.row_bytes[i] > 0 && stored.place->host != nullptr;
    planes.at[i] = is_there ? stored.place->host + stored.offsets[i] : nullptr;
  }
  return stored;
}

Result<WeightId> Weights::add_matrix(const MatrixSource& source, const MatrixPart& part, Home home) {
  if (part.n_rows > kMaxMatrixRows) {
    return unsupported(std::string(source.name) + ": " + std::to_string(part.n_rows) +
                           " rows cannot be used on this device, at most " + std::to_string(kMaxMatrixRows),
                       std::string(source.name));
  }
  RZ_CHECK_OK(SourceRows(source).check());
  const PlaneBytes row = plane_bytes(source.type, part.n_cols);
  Planes planes{source.type, {row.low, row.high, row.headers, row.scales}, {}};
  const size_t n_rows = size_t{source.n_mats} * part.n_rows;
  const size_t row_bytes = std::accumulate(std::begin(planes.row_bytes), std::end(planes.row_bytes), size_t{0});
  Stored stored{};
  size_t sizes[kPlanes];
  std::ranges::transform(planes.row_bytes, sizes, [&](size_t n_bytes) { return n_bytes * n_rows; });
  if (home == Home::kHost) {
    RZ_CHECK_OK(place_on_host(planes, n_rows));
    RZ_CHECK_OK(repack(source, part, planes, 0, n_rows, planes.at));
  } else if (is_resident(source, sizes)) {
    RZ_CHECK_OK(place_resident(planes, n_rows));
    RZ_CHECK_OK(upload_rows(source, part, planes));
  } else {
    RZ_TRY(stored, place_streamed(source, planes, n_rows));
    RZ_CHECK_OK(stored.place->host != nullptr ? repack(source, part, planes, 0, n_rows, planes.at)
                                              : write_rows(source, part, planes, stored));
  }
  stored.n_bytes = size_t{part.n_rows} * row_bytes;
  stored.first_row = part.first_row;
  stored.matrix = {reinterpret_cast<const uint32_t*>(planes.at[0]),
                   reinterpret_cast<const uint32_t*>(planes.at[1]),
                   reinterpret_cast<const uint16_t*>(planes.at[2]),
                   reinterpret_cast<const int8_t*>(planes.at[3]),
                   source.n_mats,
                   part.n_rows,
                   part.n_cols,
                   source.type};
  matrices_.push_back(stored);
  return WeightId{static_cast<uint32_t>(matrices_.size() - 1)};
}

// Repacks rows [first_row, first_row + n_rows) of the stack's parts to planes that start with the first of them.
Status Weights::repack(const MatrixSource& source, const MatrixPart& part, const Planes& planes, size_t first_row,
                       size_t n_rows, std::byte* const* to) {
  const SourceRows rows(source);
  const size_t col_bytes = row_bytes(traits(source.type), part.first_col);
  std::atomic<bool> finite{true};
  auto repack_share = [&](uint32_t member) {
    const size_t end = n_rows * (member + 1) / team_.size();
    for (size_t i = n_rows * member / team_.size(); i < end; ++i) {
      const auto mat = static_cast<uint32_t>((first_row + i) / part.n_rows);
      const auto r = part.first_row + static_cast<uint32_t>((first_row + i) % part.n_rows);
      const auto at = [&](int plane) { return to[plane] + planes.row_bytes[plane] * i; };
      const Layout layout = layout_of(planes.type);
      if (layout == Layout::kPlain) {
        copy_plain_row(source, part, rows, mat, r, planes.row_bytes[0], at(0));
        if (!all_finite(source.type, at(0), part.n_cols)) finite.store(false, std::memory_order_relaxed);
        if (planes.type == TypeId::kF8_E4M3) copy_scales(rows.scales(mat, r), part, at(2));
      } else {
        const std::byte* row = rows.row(mat, r) + col_bytes;
        if (layout == Layout::kGroups) {
          repack_row(planes.type, row, part.n_cols, rows.scales(mat, r), {at(0), at(1), at(2), at(3)});
        }
        if (layout == Layout::kStored) std::memcpy(at(0), row, planes.row_bytes[0]);
        if (!all_finite(source.type, row, part.n_cols)) finite.store(false, std::memory_order_relaxed);
      }
    }
  };
  team_.run(repack_share);
  return finite ? Status{} : Status(not_finite(source));
}

// Calls put(plane, its first row, bytes of n rows) until all rows are written. Uses two buffers: one is filled while
// the other is in transit.
template <class Put>
Status Weights::pack_rows(const MatrixSource& source, const MatrixPart& part, const Planes& planes, const Put& put) {
  const size_t n_rows = size_t{source.n_mats} * part.n_rows;
  const size_t row_bytes = std::accumulate(std::begin(planes.row_bytes), std::end(planes.row_bytes), size_t{0});
  for (std::byte*& buffer : staging_) {
    if (buffer != nullptr) continue;
    RZ_TRY(void* memory, device_.allocate_pinned(kStagingBytes));
    buffer = static_cast<std::byte*>(memory);
  }
  if (row_bytes > kStagingBytes) return unsupported(std::string(source.name) + ": rows of more than 16 MB", "row");
  const size_t n_chunk = std::min(kStagingBytes / row_bytes, n_rows);
  uint32_t turn = 0;
  for (size_t first = 0; first < n_rows; first += n_chunk, turn ^= 1) {
    const size_t n = std::min(n_chunk, n_rows - first);
    std::byte* staged[kPlanes];
    staged[0] = staging_[turn];
    for (int i = 1; i < kPlanes; ++i) staged[i] = staged[i - 1] + planes.row_bytes[i - 1] * n;
    const Status packed = repack(source, part, planes, first, n, staged);
    RZ_CHECK_OK(device_.wait());  // for the other buffer
    RZ_CHECK_OK(packed);
    for (int i = 0; i < kPlanes; ++i) {
      if (planes.row_bytes[i] > 0) RZ_CHECK_OK(put(i, first, std::span(staged[i], planes.row_bytes[i] * n)));
    }
  }
  return device_.wait();
}

Status Weights::upload_rows(const MatrixSource& source, const MatrixPart& part, const Planes& planes) {
  return pack_rows(source, part, planes, [&](int plane, size_t first_row, std::span<const std::byte> rows) -> Status {
    device_.upload(planes.at[plane] + planes.row_bytes[plane] * first_row, rows.data(), rows.size());
    return {};
  });
}

Status Weights::write_rows(const MatrixSource& source, const MatrixPart& part, const Planes& planes,
                           const Stored& stored) {
  return pack_rows(source, part, planes, [&](int plane, size_t first_row, std::span<const std::byte> rows) {
    return stream_.write(*stored.place, stored.offsets[plane] + planes.row_bytes[plane] * first_row, rows);
  });
}

Result<WeightId> Weights::add_vector(std::span<const float> values) {
  RZ_TRY(void* memory, allocate(values.size_bytes()));
  device_.upload(memory, values.data(), values.size_bytes());
  RZ_CHECK_OK(device_.wait());
  Stored stored{};
  stored.matrix = {static_cast<const uint32_t*>(memory), nullptr,     nullptr, nullptr, 1, 1,
                   static_cast<uint32_t>(values.size()), TypeId::kF32};
  stored.n_bytes = values.size_bytes();
  matrices_.push_back(stored);
  return WeightId{static_cast<uint32_t>(matrices_.size() - 1)};
}

Status Weights::write(WeightId id, size_t first_row, std::span<const float> values) {
  const Matrix& m = matrix(id);
  const bool is_vector = m.n_mats == 1 && m.n_rows == 1;
  const size_t n_rows = values.size() / m.n_cols;
  REQUIRE(m.type == TypeId::kF32 && values.size() % m.n_cols == 0);
  REQUIRE(first_row + n_rows <= size_t{m.n_mats} * m.n_rows);
  if (!all_finite(m.type, std::as_bytes(values).data(), values.size())) {
    return format_error("a weight is not a finite number");
  }
  const size_t row_floats = is_vector ? m.n_cols : plane_bytes(m.type, m.n_cols).low / sizeof(float);
  std::vector<float> rows(n_rows * row_floats);
  for (size_t r = 0; r < n_rows; ++r) {
    std::ranges::copy(values.subspan(r * m.n_cols, m.n_cols),
                      rows.begin() + static_cast<std::ptrdiff_t>(r * row_floats));
  }
  // Writable matrices are not in host memory, so the device may write here.
  auto* to = reinterpret_cast<float*>(const_cast<uint32_t*>(m.low)) + first_row * row_floats;
  device_.upload(to, rows.data(), rows.size() * sizeof(float));
  return device_.wait();
}

WeightId Weights::add_absent() {
  matrices_.push_back({});
  return WeightId{static_cast<uint32_t>(matrices_.size() - 1)};
}

void Weights::point(Stored& stored) const {
  const std::byte* at = stream_.device_at(*stored.place);
  Matrix& m = stored.matrix;
  m.low = reinterpret_cast<const uint32_t*>(at + stored.offsets[0]);
  m.high = reinterpret_cast<const uint32_t*>(at + stored.offsets[1]);
  m.headers = reinterpret_cast<const uint16_t*>(at + stored.offsets[2]);
  m.scales = reinterpret_cast<const int8_t*>(at + stored.offsets[3]);
}

Status Weights::finish() {
  for (std::byte*& buffer : staging_) {
    if (buffer != nullptr) device_.free_pinned(std::exchange(buffer, nullptr));
  }
  RZ_CHECK_OK(stream_.create_buffers());
  for (Stored& stored : matrices_) {
    if (stored.place) point(stored);
  }
  return {};
}

std::optional<uint32_t> Weights::streamed_layer(WeightId id) const {
  const Stored& stored = matrices_[static_cast<uint32_t>(id)];
  return stored.place ? std::optional(stored.place->layer) : std::nullopt;
}

}  // namespace realizar::cuda
