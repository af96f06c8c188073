#include "backend/cpu/panels.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>

#include "backend/source_rows.h"
#include "base/work_shares.h"
#include "quant/finite.h"
#include "quant/groups.h"

namespace realizar {
namespace {

#include "backend/cpu/isa/panel_layout.inl"

// Bits [shift, shift + bits) of the codes, into the row's place of a plane's vectors.
template <int bits, int shift>
void write_plane(const uint32_t* fours, uint8_t* plane) {
  constexpr uint32_t mask = 0x01010101u * ((1u << bits) - 1);
  for (int s = 0; s < bits; ++s) {
    uint32_t word = 0;
    for (int k = 0; k < 8 / bits; ++k) word |= ((fours[s + k * bits] >> shift) & mask) << (k * bits);
    std::memcpy(plane + 64 * s, &word, sizeof word);
  }
}

// Spreads one row's group over the planes of its panel.
template <PanelLayout layout>
void write_group(const Group& group, uint32_t g, uint32_t row, uint8_t* panel) {
  uint8_t* at = panel + layout.group_at(g);
  if (layout.scales == Scales::kSuper) {
    std::memcpy(panel + layout.header_at(g) + 2 * row, &group.d, 2);
    if (layout.has_min) std::memcpy(panel + layout.header_at(g) + 32 + 2 * row, &group.m, 2);
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

// Groups [0, n_groups) of one stored row into row i of a panel; the layout is known when this is compiled.
template <PanelLayout layout, Group (*read)(const std::byte* row, uint32_t g)>
void pack_row(const std::byte* row, uint32_t n_groups, uint32_t i, uint8_t* panel) {
  for (uint32_t g = 0; g < n_groups; ++g) write_group<layout>(read(row, g), g, i, panel);
}

struct Packing {
  TypeId type;
  PanelKind kind;
  PanelLayout layout;
  void (*pack_row)(const std::byte* row, uint32_t n_groups, uint32_t i, uint8_t* panel);
};

template <PanelLayout layout, Group (*read)(const std::byte* row, uint32_t g)>
constexpr Packing packing(TypeId type, PanelKind kind) {
  return {type, kind, layout, pack_row<layout, read>};
}

constexpr Packing kPackings[] = {
    packing<kQ4_0Layout, groups::read_nibbles<BlockQ4_0>>(TypeId::kQ4_0, PanelKind::kQ4_0),
    packing<kQ4_1Layout, groups::read_nibbles<BlockQ4_1>>(TypeId::kQ4_1, PanelKind::kQ4_1),
    packing<kQ5_0Layout, groups::read_nibbles<BlockQ5_0>>(TypeId::kQ5_0, PanelKind::kQ5_0),
    packing<kQ5_1Layout, groups::read_nibbles<BlockQ5_1>>(TypeId::kQ5_1, PanelKind::kQ5_1),
    packing<kQ8_0Layout, groups::read_q8_0>(TypeId::kQ8_0, PanelKind::kQ8_0),
    packing<kIQ4_NLLayout, groups::read_nibbles<BlockIQ4_NL>>(TypeId::kIQ4_NL, PanelKind::kIQ4_NL),
    packing<kMXFP4Layout, groups::read_mxfp4>(TypeId::kMXFP4, PanelKind::kMXFP4),
    packing<kQ2_KLayout, groups::read_q2_k>(TypeId::kQ2_K, PanelKind::kQ2_K),
    packing<kQ3_KLayout, groups::read_q3_k>(TypeId::kQ3_K, PanelKind::kQ3_K),
    packing<kQ4_KLayout, groups::read_q45_k<BlockQ4_K>>(TypeId::kQ4_K, PanelKind::kQ4_K),
    packing<kQ5_KLayout, groups::read_q45_k<BlockQ5_K>>(TypeId::kQ5_K, PanelKind::kQ5_K),
    packing<kQ6_KLayout, groups::read_q6_k>(TypeId::kQ6_K, PanelKind::kQ6_K),
    packing<kIQ4_XSLayout, groups::read_iq4_xs>(TypeId::kIQ4_XS, PanelKind::kIQ4_XS),
};

const Packing* packing_of(TypeId type) {
  const auto found = std::ranges::find(kPackings, type, &Packing::type);
  return found == std::end(kPackings) ? nullptr : found;
}

const Packing* packing_of(PanelKind kind) {
  const auto found = std::ranges::find(kPackings, kind, &Packing::kind);
  return found == std::end(kPackings) ? nullptr : found;
}

size_t plain_bytes(PanelKind kind) {
  return kind == PanelKind::kF32 ? 4 : 2;
}

static_assert(F8Panel::kScaleCols == kF8ScaleCols);

// scales: of each kF8ScaleCols columns; null: 1.
void put_f8_row(const std::byte* row, const float* scales, uint32_t n_cols, uint32_t i, uint8_t* panel) {
  for (uint32_t c = 0; c < n_cols; c += kF8ScaleCols) {
    const float scale = scales == nullptr ? 1.0f : scales[c / kF8ScaleCols];
    std::memcpy(panel + F8Panel::scales_at(c) + i * sizeof scale, &scale, sizeof scale);
  }
  for (uint32_t c = 0; c < n_cols; ++c) panel[F8Panel::codes_at(c) + i] = std::to_integer<uint8_t>(row[c]);
}

// False where a weight is no number; so are the other packings of a panel.
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

bool pack_blocks(const Packing& packing, const MatrixSource& source, const SourceRows& rows, uint32_t mat, uint32_t p,
                 uint8_t* panel) {
  bool finite = true;
  for (uint32_t i = 0; i < kPanelRows && p * kPanelRows + i < source.n_rows; ++i) {
    const std::byte* row = rows.row(mat, p * kPanelRows + i);
    packing.pack_row(row, source.n_cols / kGroupCols, i, panel);
    finite &= all_finite(source.type, row, source.n_cols);
  }
  return finite;
}

size_t content_bytes(PanelKind kind, uint32_t n_cols) {
  if (const Packing* packing = packing_of(kind)) {
    return packing->layout.group_at(n_cols / kGroupCols - 1) + static_cast<size_t>(packing->layout.group_bytes());
  }
  if (kind == PanelKind::kF8) return F8Panel::bytes(n_cols);
  return size_t{kPanelRows} * n_cols * plain_bytes(kind);
}

}  // namespace

PanelKind panel_kind(TypeId type) {
  if (const Packing* packing = packing_of(type)) return packing->kind;
  switch (type) {
    case TypeId::kF32:
      return PanelKind::kF32;
    case TypeId::kF16:
      return PanelKind::kF16;
    case TypeId::kF8_E4M3:
      return PanelKind::kF8;
    default:
      return PanelKind::kBF16;
  }
}

size_t panel_bytes(PanelKind kind, uint32_t n_cols) {
  return (content_bytes(kind, n_cols) + 63) / 64 * 64;
}

void put_row(PanelKind kind, const std::byte* row, uint32_t n_cols, uint32_t i, uint8_t* panel) {
  if (const Packing* packing = packing_of(kind)) return packing->pack_row(row, n_cols / kGroupCols, i, panel);
  if (kind == PanelKind::kF8) return put_f8_row(row, nullptr, n_cols, i, panel);
  const size_t n_bytes = plain_bytes(kind);
  for (uint32_t c = 0; c < n_cols; ++c) {
    std::memcpy(panel + (size_t{c} * kPanelRows + i) * n_bytes, row + c * n_bytes, n_bytes);
  }
}

Result<PanelMatrix> pack_panels(const MatrixSource& source, ThreadTeam& team, Arena& arena) {
  const TypeTraits& type = traits(source.type);
  const Packing* packing = packing_of(source.type);
  if (source.transposed && packing != nullptr) {
    return unsupported("a transposed matrix of type " + std::string(type.name), std::string(source.name));
  }
  const SourceRows rows(source);
  RZ_CHECK_OK(rows.check());
  PanelMatrix m;
  m.n_mats = source.n_mats;
  m.n_rows = source.n_rows;
  m.n_cols = source.n_cols;
  m.kind = panel_kind(source.type);
  m.panel_bytes = panel_bytes(m.kind, source.n_cols);
  RZ_TRY(m.data, arena.allocate(m.bytes()));
  std::atomic<bool> finite{true};
  const auto pack_panel = [&](uint32_t i) {
    const uint32_t mat = i / m.n_panels(), p = i % m.n_panels();
    uint8_t* panel = m.panel(mat, p);
    const auto pack_plain_panel = type.block_bytes == 4 ? pack_plain<uint32_t> : pack_plain<uint16_t>;
    const bool packed = m.kind == PanelKind::kF8 ? pack_f8(source, rows, mat, p, panel)
                        : packing == nullptr     ? pack_plain_panel(source, rows, mat, p, panel)
                                                 : pack_blocks(*packing, source, rows, mat, p, panel);
    if (!packed) finite.store(false, std::memory_order_relaxed);
  };
  const auto taken = std::make_unique<std::atomic<uint32_t>[]>(team.size());
  auto pack = [&](uint32_t member) {
    share_work(taken.get(), m.n_mats * m.n_panels(), member, team.size(), pack_panel);
  };
  team.run(pack);
  if (!finite) return not_finite(source);
  return m;
}

}  // namespace realizar
