#include "backend/cuda/weights.h"

#include <algorithm>
#include <cstring>

#include "backend/cuda/repack.h"
#include "backend/source_rows.h"

namespace realizar::cuda {
namespace {

constexpr size_t kChunkBytes = 16u << 20;  // of repacked rows between two uploads

void copy_plain_row(const MatrixSource& source, const SourceRows& rows, uint32_t mat, uint32_t r, std::byte* to) {
  const size_t n_bytes = traits(source.type).block_bytes;
  if (!source.transposed) {
    std::memcpy(to, rows.row(mat, r), source.n_cols * n_bytes);
    return;
  }
  for (uint32_t c = 0; c < source.n_cols; ++c) {
    std::memcpy(to + c * n_bytes, rows.element(mat, r, c, n_bytes), n_bytes);
  }
}

}  // namespace

struct Weights::Planes {
  Form form;
  PlaneBytes row;    // bytes a row
  std::byte* at[4];  // on the device: low, high, headers, scales; null where the form has none
  size_t row_bytes() const { return row.low + row.high + row.headers + row.scales; }
};

Result<void*> Weights::allocate(size_t n_bytes) {
  if (n_bytes == 0) return nullptr;
  RZ_TRY(void* memory, device_.allocate(n_bytes));
  n_bytes_ += n_bytes;
  return memory;
}

Result<WeightId> Weights::add_matrix(const MatrixSource& source) {
  const auto form = form_of(source.type);
  if (!form) {
    return unsupported(
        std::string(source.name) + ": type " + std::string(traits(source.type).name) + " cannot be used on this device",
        std::string(source.name));
  }
  RZ_CHECK_OK(SourceRows(source).check());
  Planes planes{*form, plane_bytes(*form, source.n_cols), {}};
  const size_t n_rows = size_t{source.n_mats} * source.n_rows;
  const size_t bytes[4] = {planes.row.low, planes.row.high, planes.row.headers, planes.row.scales};
  for (int i = 0; i < 4; ++i) {
    RZ_TRY(void* memory, allocate(bytes[i] * n_rows));
    planes.at[i] = static_cast<std::byte*>(memory);
  }
  RZ_CHECK_OK(upload_rows(source, planes));
  matrices_.push_back({reinterpret_cast<const uint32_t*>(planes.at[0]), reinterpret_cast<const uint32_t*>(planes.at[1]),
                       reinterpret_cast<const uint16_t*>(planes.at[2]), reinterpret_cast<const int8_t*>(planes.at[3]),
                       source.n_mats, source.n_rows, source.n_cols, *form});
  return WeightId{static_cast<uint32_t>(matrices_.size() - 1)};
}

Status Weights::upload_rows(const MatrixSource& source, const Planes& planes) {
  const SourceRows rows(source);
  const size_t bytes[4] = {planes.row.low, planes.row.high, planes.row.headers, planes.row.scales};
  const size_t n_rows = size_t{source.n_mats} * source.n_rows;
  const size_t n_chunk = std::clamp<size_t>(kChunkBytes / std::max<size_t>(1, planes.row_bytes()), 1, n_rows);
  std::vector<std::byte> staged[4];
  for (int i = 0; i < 4; ++i) staged[i].resize(bytes[i] * n_chunk);
  for (size_t first = 0; first < n_rows; first += n_chunk) {
    const size_t n = std::min(n_chunk, n_rows - first);
    for (size_t i = 0; i < n; ++i) {
      const auto mat = static_cast<uint32_t>((first + i) / source.n_rows);
      const auto r = static_cast<uint32_t>((first + i) % source.n_rows);
      const PlaneRow to{staged[0].data() + bytes[0] * i, staged[1].data() + bytes[1] * i,
                        staged[2].data() + bytes[2] * i, staged[3].data() + bytes[3] * i};
      if (is_plain(planes.form)) {
        copy_plain_row(source, rows, mat, r, to.low);
      } else {
        repack_row(planes.form, rows.row(mat, r), source.n_cols, to);
      }
    }
    for (int p = 0; p < 4; ++p) {
      if (bytes[p] > 0) device_.upload(planes.at[p] + bytes[p] * first, staged[p].data(), bytes[p] * n);
    }
    RZ_CHECK_OK(device_.wait());
  }
  return {};
}

Result<WeightId> Weights::add_vector(std::span<const float> values) {
  RZ_TRY(void* memory, allocate(values.size_bytes()));
  device_.upload(memory, values.data(), values.size_bytes());
  RZ_CHECK_OK(device_.wait());
  const auto n = static_cast<uint32_t>(values.size());
  matrices_.push_back({static_cast<const uint32_t*>(memory), nullptr, nullptr, nullptr, 1, 1, n, Form::kF32});
  return WeightId{static_cast<uint32_t>(matrices_.size() - 1)};
}

}  // namespace realizar::cuda
