#include "backend/cpu/panels.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>

#include "base/work_shares.h"
#include "quant/blocks.h"

namespace realizar {
namespace {

#include "backend/cpu/isa/panel_layout.inl"

// The codes and scales of 32 columns of one row, whatever type they came from.
struct Group {
  uint8_t codes[32];
  uint16_t d, m;             // F16 or bf16 bits; of the super-block for Scales::kSuper
  uint8_t scale[2], min[2];  // of the sub-blocks, for Scales::kSuper
};

uint8_t u8(int x) {
  return static_cast<uint8_t>(x);
}

// Low nibbles of 16 bytes, then the high ones.
void split_nibbles(const uint8_t* qs, uint8_t* codes) {
  for (int i = 0; i < 16; ++i) codes[i] = qs[i] & 15;
  for (int i = 0; i < 16; ++i) codes[16 + i] = qs[i] >> 4;
}

uint8_t fifth_bit(const uint8_t* qh, int i) {
  return u8(((qh[i / 8] >> (i % 8)) & 1) << 4);
}

template <class Block>
Block block_at(const std::byte* row, uint32_t i) {
  Block block;
  std::memcpy(&block, row + size_t{i} * sizeof block, sizeof block);
  return block;
}

template <class Block>
Group read_nibbles(const std::byte* row, uint32_t g) {
  const auto b = block_at<Block>(row, g);
  Group group{};
  split_nibbles(b.qs, group.codes);
  if constexpr (requires { b.qh; }) {
    for (int i = 0; i < 32; ++i) group.codes[i] |= fifth_bit(b.qh, i);
  }
  if constexpr (requires { b.m; }) group.m = b.m;
  if constexpr (requires { b.d; }) group.d = b.d;
  return group;
}

Group read_q8_0(const std::byte* row, uint32_t g) {
  const auto b = block_at<BlockQ8_0>(row, g);
  Group group{};
  for (int i = 0; i < 32; ++i) group.codes[i] = u8(b.qs[i] + 128);
  group.d = b.d;
  return group;
}

// The layout's levels are doubled, so the scale is 2^(e - 128): a bf16 with exponent field e - 1, or a subnormal.
Group read_mxfp4(const std::byte* row, uint32_t g) {
  const auto b = block_at<BlockMXFP4>(row, g);
  Group group{};
  split_nibbles(b.qs, group.codes);
  group.d = b.e >= 2 ? static_cast<uint16_t>((b.e - 1) << 7) : static_cast<uint16_t>(b.e == 1 ? 0x40 : 0x20);
  return group;
}

Group read_q2_k(const std::byte* row, uint32_t g) {
  const auto b = block_at<BlockQ2_K>(row, g / 8);
  const int s = static_cast<int>(g % 8);
  Group group{};
  for (int l = 0; l < 32; ++l) group.codes[l] = (b.qs[32 * (s / 4) + l] >> (2 * (s % 4))) & 3;
  for (int h = 0; h < 2; ++h) {
    group.scale[h] = b.scales[2 * s + h] & 15;
    group.min[h] = b.scales[2 * s + h] >> 4;
  }
  group.d = b.d;
  group.m = b.dmin;
  return group;
}

Group read_q3_k(const std::byte* row, uint32_t g) {
  const auto b = block_at<BlockQ3_K>(row, g / 8);
  const int s = static_cast<int>(g % 8);
  Group group{};
  for (int l = 0; l < 32; ++l) {
    group.codes[l] = u8(((b.qs[32 * (s / 4) + l] >> (2 * (s % 4))) & 3) | (((b.hmask[l] >> s) & 1) << 2));
  }
  for (int h = 0; h < 2; ++h) group.scale[h] = u8(q3_k_scale(b.scales, 2 * s + h));
  group.d = b.d;
  return group;
}

template <class Block>
Group read_q45_k(const std::byte* row, uint32_t g) {
  const auto b = block_at<Block>(row, g / 8);
  const int s = static_cast<int>(g % 8);
  Group group{};
  const int shift = 4 * (s % 2);
  for (int l = 0; l < 32; ++l) group.codes[l] = (b.qs[32 * (s / 2) + l] >> shift) & 15;
  if constexpr (requires { b.qh; }) {
    for (int l = 0; l < 32; ++l) group.codes[l] |= u8(((b.qh[l] >> s) & 1) << 4);
  }
  const ScaleMin sm = q4_k_scale_min(b.scales, s);
  group.scale[0] = sm.scale;
  group.min[0] = sm.min;
  group.d = b.d;
  group.m = b.dmin;
  return group;
}

Group read_q6_k(const std::byte* row, uint32_t g) {
  const auto b = block_at<BlockQ6_K>(row, g / 8);
  const int s = static_cast<int>(g % 8), h = s / 4, j = s % 4;
  Group group{};
  const int shift = j < 2 ? 0 : 4;
  for (int l = 0; l < 32; ++l) {
    const int low = (b.ql[64 * h + 32 * (j & 1) + l] >> shift) & 15;
    group.codes[l] = u8(low | (((b.qh[32 * h + l] >> (2 * j)) & 3) << 4));
  }
  for (int k = 0; k < 2; ++k) group.scale[k] = u8(b.scales[2 * s + k]);
  group.d = b.d;
  return group;
}

Group read_iq4_xs(const std::byte* row, uint32_t g) {
  const auto b = block_at<BlockIQ4_XS>(row, g / 8);
  const int s = static_cast<int>(g % 8);
  Group group{};
  split_nibbles(b.qs + 16 * s, group.codes);
  group.scale[0] = u8(iq4_xs_scale(b, s));
  group.d = b.d;
  return group;
}

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
    packing<kQ4_0Layout, read_nibbles<BlockQ4_0>>(TypeId::kQ4_0, PanelKind::kQ4_0),
    packing<kQ4_1Layout, read_nibbles<BlockQ4_1>>(TypeId::kQ4_1, PanelKind::kQ4_1),
    packing<kQ5_0Layout, read_nibbles<BlockQ5_0>>(TypeId::kQ5_0, PanelKind::kQ5_0),
    packing<kQ5_1Layout, read_nibbles<BlockQ5_1>>(TypeId::kQ5_1, PanelKind::kQ5_1),
    packing<kQ8_0Layout, read_q8_0>(TypeId::kQ8_0, PanelKind::kQ8_0),
    packing<kIQ4_NLLayout, read_nibbles<BlockIQ4_NL>>(TypeId::kIQ4_NL, PanelKind::kIQ4_NL),
    packing<kMXFP4Layout, read_mxfp4>(TypeId::kMXFP4, PanelKind::kMXFP4),
    packing<kQ2_KLayout, read_q2_k>(TypeId::kQ2_K, PanelKind::kQ2_K),
    packing<kQ3_KLayout, read_q3_k>(TypeId::kQ3_K, PanelKind::kQ3_K),
    packing<kQ4_KLayout, read_q45_k<BlockQ4_K>>(TypeId::kQ4_K, PanelKind::kQ4_K),
    packing<kQ5_KLayout, read_q45_k<BlockQ5_K>>(TypeId::kQ5_K, PanelKind::kQ5_K),
    packing<kQ6_KLayout, read_q6_k>(TypeId::kQ6_K, PanelKind::kQ6_K),
    packing<kIQ4_XSLayout, read_iq4_xs>(TypeId::kIQ4_XS, PanelKind::kIQ4_XS),
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

// Finds stored rows in the pieces of a source.
class SourceRows {
 public:
  explicit SourceRows(const MatrixSource& source)
      : source_(source),
        stored_cols_(source.transposed ? source.n_rows : source.n_cols),
        stored_rows_(source.transposed ? source.n_cols : source.n_rows),
        row_bytes_(row_bytes(traits(source.type), stored_cols_)),
        rows_a_piece_(source.pieces.empty() ? 0 : source.pieces[0].size() / std::max<size_t>(1, row_bytes_)) {}

  Status check() const {
    size_t n = 0;
    for (const auto piece : source_.pieces) n += piece.size();
    const bool even = source_.pieces.empty() || rows_a_piece_ * row_bytes_ * source_.pieces.size() == n;
    const size_t expected = size_t{source_.n_mats} * stored_rows_ * row_bytes_;
    if (even && n == expected && stored_cols_ % traits(source_.type).block_elems == 0) return {};
    return invalid_argument("a matrix of " + std::to_string(expected) + " bytes was given " + std::to_string(n) +
                                " in " + std::to_string(source_.pieces.size()) + " pieces",
                            std::string(source_.name));
  }

  const std::byte* row(uint32_t mat, uint32_t r) const {
    const size_t from = source_.row_order.empty() ? r : source_.row_order[r];
    return stored(size_t{mat} * source_.n_rows + from);
  }
  size_t stored_row_bytes() const { return row_bytes_; }
  // The element at (r, c) of a transposed source.
  const std::byte* element(uint32_t mat, uint32_t r, uint32_t c, size_t n_bytes) const {
    const size_t from = source_.row_order.empty() ? r : source_.row_order[r];
    return stored(size_t{mat} * source_.n_cols + c) + from * n_bytes;
  }

 private:
  const std::byte* stored(size_t row) const {
    return source_.pieces[row / rows_a_piece_].data() + row % rows_a_piece_ * row_bytes_;
  }

  const MatrixSource& source_;
  size_t stored_cols_, stored_rows_, row_bytes_, rows_a_piece_;
};

// `T` is an unsigned integer of the element's size.
template <class T>
void pack_plain(const MatrixSource& source, const SourceRows& rows, uint32_t mat, uint32_t p, uint8_t* panel) {
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
}

void pack_blocks(const Packing& packing, const MatrixSource& source, const SourceRows& rows, uint32_t mat, uint32_t p,
                 uint8_t* panel) {
  for (uint32_t i = 0; i < kPanelRows && p * kPanelRows + i < source.n_rows; ++i) {
    const std::byte* row = rows.row(mat, p * kPanelRows + i);
    packing.pack_row(row, source.n_cols / kGroupCols, i, panel);
  }
}

}  // namespace

size_t panel_bytes(PanelKind kind, uint32_t n_cols) {
  const Packing* packing = packing_of(kind);
  size_t n_bytes = size_t{kPanelRows} * n_cols * plain_bytes(kind);
  if (packing != nullptr) {
    n_bytes = packing->layout.group_at(n_cols / kGroupCols - 1) + static_cast<size_t>(packing->layout.group_bytes());
  }
  return (n_bytes + 63) / 64 * 64;
}

void put_row(PanelKind kind, const std::byte* row, uint32_t n_cols, uint32_t i, uint8_t* panel) {
  if (const Packing* packing = packing_of(kind)) return packing->pack_row(row, n_cols / kGroupCols, i, panel);
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
  m.kind = packing != nullptr            ? packing->kind
           : source.type == TypeId::kF32 ? PanelKind::kF32
           : source.type == TypeId::kF16 ? PanelKind::kF16
                                         : PanelKind::kBF16;
  m.panel_bytes = panel_bytes(m.kind, source.n_cols);
  RZ_TRY(m.data, arena.allocate(m.bytes()));
  const auto pack_panel = [&](uint32_t i) {
    const uint32_t mat = i / m.n_panels(), p = i % m.n_panels();
    if (packing == nullptr) {
      const auto pack_plain_panel = type.block_bytes == 4 ? pack_plain<uint32_t> : pack_plain<uint16_t>;
      pack_plain_panel(source, rows, mat, p, m.panel(mat, p));
    } else {
      pack_blocks(*packing, source, rows, mat, p, m.panel(mat, p));
    }
  };
  const auto taken = std::make_unique<std::atomic<uint32_t>[]>(team.size());
  auto pack = [&](uint32_t member) {
    share_work(taken.get(), m.n_mats * m.n_panels(), member, team.size(), pack_panel);
  };
  team.run(pack);
  return m;
}

}  // namespace realizar
