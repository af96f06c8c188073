#include "backend/cpu/packed_matrix.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>

#include "backend/source_rows.h"
#include "base/thread_team.h"
#include "base/try.h"
#include "quant/finite.h"
#include "quant/groups.h"

namespace realizar::cpu {
namespace {

#include "backend/cpu/isa/panel_layout.inl"

// Writes bits [shift, shift + bits) of the codes to the row's slots in a plane's vectors.
template <int bits, int shift>
void write_plane(const uint32_t* fours, uint8_t* plane) {
  constexpr uint32_t mask = 0x01010101u * ((1u << bits) - 1);
  for (int s = 0; s < bits; ++s) {
    uint32_t word = 0;
    for (int k = 0; k < 8 / bits; ++k) word |= ((fours[s + k * bits] >> shift) & mask) << (k * bits);
    std::memcpy(plane + 64 * s, &word, sizeof word);
  }
}

// Writes one row's group into the planes of its panel.
template <PanelLayout layout>
void write_group(const Group& group, uint32_t g, uint32_t row, uint8_t* panel) {
  uint8_t* at = panel + layout.group_at(g);
  if (layout.scales == Scales::kSuper) {
    std::memcpy(panel + layout.header_at(g) + 2 * row, &group.d, 2);
    if (layout.has_min) std::memcpy(panel + layout.header_at(g) + 32 + 2 * row, &group.m, 2);
  }
  if (layout.has_scale_bytes()) {
    for (int s = 0; s < layout.n_subs(); ++s) {
      at[16 * s + static_cast<int>(row)] = group.scale[s];
      if (layout.has_min) at[16 * (layout.n_subs() + s) + static_cast<int>(row)] = group.min[s];
    }
  } else {
    std::memcpy(at + 2 * row, &group.d, 2);
    if (layout.has_min) std::memcpy(at + 32 + 2 * row, &group.m, 2);
  }
  uint32_t fours[8];  // the codes of 4 columns each
  std::memcpy(fours, group.codes, sizeof fours);
  uint8_t* low = at + layout.scale_bytes() + 4 * row;
  write_plane<layout.low, 0>(fours, low);
  if constexpr (layout.high > 0) write_plane<layout.high, layout.low>(fours, low + 64 * layout.low);
}

static_assert(F8Panel::kScaleCols == kF8ScaleCols);

// scales: one per kF8ScaleCols columns; null: 1.
void put_f8_row(const std::byte* row, const float* scales, uint32_t n_cols, uint32_t i, uint8_t* panel) {
  for (uint32_t c = 0; c < n_cols; c += kF8ScaleCols) {
    const float scale = scales == nullptr ? 1.0f : scales[c / kF8ScaleCols];
    std::memcpy(panel + F8Panel::scales_at(c) + i * sizeof scale, &scale, sizeof scale);
  }
  for (uint32_t c = 0; c < n_cols; ++c) panel[F8Panel::codes_at(c) + i] = std::to_integer<uint8_t>(row[c]);
}

// False if a weight is not finite, as with the other packings of a panel.
bool pack_f8(const MatrixSource& source, const SourceRows& rows, uint32_t mat, uint32_t p, uint8_t* panel) {
  bool finite = true;
  for (uint32_t i = 0; i < kPanelRows && p * kPanelRows + i < source.n_rows; ++i) {
    const uint32_t r = p * kPanelRows + i;
    put_f8_row(rows.row(mat, r), rows.scales(mat, r), source.n_cols, i, panel);
    finite &= all_finite(source.type, rows.row(mat, r), source.n_cols);
  }
  return finite;
}

// `T` is an unsigned integer of the element's size.
template <class T>
bool pack_plain(const MatrixSource& source, const SourceRows& rows, uint32_t mat, uint32_t p, uint8_t* panel) {
  const uint32_t first = p * kPanelRows, n = std::min(kPanelRows, source.n_rows - first);
  const std::byte* from[kPanelRows];
  for (uint32_t i = 0; i < n; ++i) {
    from[i] = source.transposed ? rows.element(mat, first + i, 0, sizeof(T)) : rows.row(mat, first + i);
  }
  const size_t stride = source.transposed ? rows.stored_row_bytes() : sizeof(T);
  for (uint32_t c = 0; c < source.n_cols; ++c) {
    for (uint32_t i = 0; i < n; ++i) {
      std::memcpy(panel + (size_t{c} * kPanelRows + i) * sizeof(T), from[i] + c * stride, sizeof(T));
    }
  }
  return all_finite(source.type, reinterpret_cast<const std::byte*>(panel), size_t{source.n_cols} * kPanelRows);
}

// Writes block `b` of a row.
template <class Row>
void put_block(const std::byte* row, uint32_t b, uint32_t i, uint8_t* panel) {
  constexpr uint32_t kGroups = Row::kElems / kGroupCols;
  const auto block = block_of<Row>(row, b);
#pragma GCC unroll 8
  for (uint32_t g = 0; g < kGroups; ++g) {
    write_group<PanelLayout{Row::kForm}>(read_group(block, static_cast<int>(g)), b * kGroups + g, i, panel);
  }
}

// Tiles are decoded kTileCols columns at a time.
template <class... Rows>
constexpr bool have_whole_blocks_in_tiles(TypeList<Rows...>) {
  return ((kTileCols % Rows::kElems == 0) && ...);
}
static_assert(have_whole_blocks_in_tiles(TypeRows{}));

template <class Row>
constexpr size_t stored_row_bytes(uint32_t n_cols) {
  return n_cols / Row::kElems * sizeof(typename Row::Block);
}

// Stored rows are contiguous.
template <class Row>
void put_stored(const std::byte* row, uint32_t n_cols, uint32_t i, uint8_t* panel) {
  const size_t n_bytes = stored_row_bytes<Row>(n_cols);
  std::memcpy(panel + i * n_bytes, row, n_bytes);
}

// Writes rows [i, i + n) of a panel, block by block for groups, so that their shared part of a panel stays in cache.
template <class Row>
void put_blocks(const std::byte* const* rows, uint32_t n_cols, uint32_t i, uint32_t n, uint8_t* panel) {
  if constexpr (Row::kLayout == Layout::kGroups) {
    for (uint32_t b = 0; b < n_cols / Row::kElems; ++b) {
      for (uint32_t k = 0; k < n; ++k) put_block<Row>(rows[k], b, i + k, panel);
    }
  }
  if constexpr (Row::kLayout == Layout::kStored) {
    for (uint32_t k = 0; k < n; ++k) put_stored<Row>(rows[k], n_cols, i + k, panel);
  }
}

// Writes the factor of row `i` of a panel with row factors; null: 1.
template <PanelLayout layout>
void put_row_factor(const float* scale, uint32_t i, uint8_t* panel) {
  const float factor = (scale == nullptr ? 1.0f : *scale) / layout.divisor;
  std::memcpy(panel + i * sizeof factor, &factor, sizeof factor);
}

template <class Row>
bool pack_blocks(const MatrixSource& source, const SourceRows& rows, uint32_t mat, uint32_t p, uint8_t* panel) {
  const uint32_t first = p * kPanelRows, n = std::min(kPanelRows, source.n_rows - first);
  const std::byte* from[kPanelRows];
  bool finite = true;
  for (uint32_t i = 0; i < n; ++i) {
    from[i] = rows.row(mat, first + i);
    if constexpr (Row::kForm.scales == Scales::kE4M3) {
      put_row_factor<PanelLayout{Row::kForm}>(rows.scales(mat, first + i), i, panel);
    }
    finite &= all_finite(source.type, from[i], source.n_cols);
  }
  put_blocks<Row>(from, source.n_cols, 0, n, panel);
  return finite;
}

template <class Row>
bool pack_panel(const MatrixSource& source, const SourceRows& rows, uint32_t mat, uint32_t p, uint8_t* panel) {
  if constexpr (Row::kLayout != Layout::kPlain) return pack_blocks<Row>(source, rows, mat, p, panel);
  if constexpr (Row::kId == TypeId::kF8_E4M3) return pack_f8(source, rows, mat, p, panel);
  if constexpr (Row::kId == TypeId::kF32) return pack_plain<uint32_t>(source, rows, mat, p, panel);
  return pack_plain<uint16_t>(source, rows, mat, p, panel);
}

template <class Row>
size_t content_bytes(uint32_t n_cols) {
  if constexpr (Row::kLayout == Layout::kGroups) {
    constexpr PanelLayout kPanel{Row::kForm};
    return kPanel.group_at(n_cols / kGroupCols - 1) + static_cast<size_t>(kPanel.group_bytes());
  }
  if constexpr (Row::kLayout == Layout::kStored) return kPanelRows * stored_row_bytes<Row>(n_cols);
  if constexpr (Row::kId == TypeId::kF8_E4M3) return F8Panel::bytes(n_cols);
  return size_t{kPanelRows} * n_cols * sizeof(typename Row::Block);
}

}  // namespace

size_t panel_bytes(TypeId type, uint32_t n_cols) {
  size_t n_bytes = 0;
  with_row(type, [&]<class Row>(Row) { n_bytes = content_bytes<Row>(n_cols); });
  return (n_bytes + 63) / 64 * 64;
}

void decode_row(const PackedMatrix& m, const uint8_t* panel, uint32_t i, uint32_t col, uint32_t n, float* values) {
  const TypeTraits& type = traits(m.type);
  const size_t at = i * row_bytes(type, m.n_cols) + row_bytes(type, col);
  type.decode(reinterpret_cast<const std::byte*>(panel) + at, values, n);
}

void put_row(TypeId type, const std::byte* row, uint32_t n_cols, uint32_t i, uint8_t* panel) {
  with_row(type, [&]<class Row>(Row) {
    constexpr size_t kBytes = sizeof(typename Row::Block);
    if constexpr (Row::kLayout != Layout::kPlain) {
      put_blocks<Row>(&row, n_cols, i, 1, panel);
      if constexpr (Row::kForm.scales == Scales::kE4M3) put_row_factor<PanelLayout{Row::kForm}>(nullptr, i, panel);
    } else if constexpr (Row::kId == TypeId::kF8_E4M3) {
      put_f8_row(row, nullptr, n_cols, i, panel);
    } else {
      for (uint32_t c = 0; c < n_cols; ++c) {
        std::memcpy(panel + (size_t{c} * kPanelRows + i) * kBytes, row + c * kBytes, kBytes);
      }
    }
  });
}

Result<PackedMatrix> pack_matrix(const MatrixSource& source, ThreadTeam& team, Arena& arena) {
  const SourceRows rows(source);
  RZ_CHECK_OK(rows.check());
  PackedMatrix m;
  m.type = source.type;
  m.n_mats = source.n_mats;
  m.n_rows = source.n_rows;
  m.n_cols = source.n_cols;
  m.panel_bytes = panel_bytes(source.type, source.n_cols);
  RZ_TRY(m.data, arena.allocate(m.bytes()));
  std::atomic<bool> finite{true};
  bool (*pack)(const MatrixSource&, const SourceRows&, uint32_t mat, uint32_t p, uint8_t* panel) = nullptr;
  with_row(source.type, [&]<class Row>(Row) { pack = pack_panel<Row>; });
  const auto taken = std::make_unique<std::atomic<uint32_t>[]>(team.size());
  auto pack_share = [&](uint32_t member) {
    share_work(taken.get(), m.n_mats * m.n_panels(), member, team.size(), [&](uint32_t i) {
      const uint32_t mat = i / m.n_panels(), p = i % m.n_panels();
      if (!pack(source, rows, mat, p, m.panel(mat, p))) finite.store(false, std::memory_order_relaxed);
    });
  };
  team.run(pack_share);
  if (!finite) return not_finite(source);
  return m;
}

}  // namespace realizar::cpu
