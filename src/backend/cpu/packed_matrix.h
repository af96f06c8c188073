// A matrix as the CPU stores it: packed in panels of 16 rows, transcoded without loss from the stored blocks, with
// elements and groups interleaved in the order in which kernels read them. Stored types keep their rows unchanged, one
// after the other. Rows beyond n_rows in the last panel are zero.
#pragma once

#include "backend/backend.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/pages.h"
#include "base/thread_team.h"
#include "quant/type_table.h"

namespace realizar::cpu {

struct PackedMatrix {
  TypeId type = TypeId::kF32;
  uint32_t n_mats = 0, n_rows = 0, n_cols = 0;
  size_t panel_bytes = 0;
  uint8_t* data = nullptr;  // [n_mats, n_panels()] panels

  uint32_t n_panels() const { return (n_rows + kPanelRows - 1) / kPanelRows; }
  uint8_t* panel(uint32_t mat, uint32_t p) const { return data + (size_t{mat} * n_panels() + p) * panel_bytes; }
  size_t bytes() const { return size_t{n_mats} * n_panels() * panel_bytes; }
  bool is_plain() const { return layout_of(type) == Layout::kPlain; }
  bool is_stored() const { return layout_of(type) == Layout::kStored; }
  bool has_groups() const { return layout_of(type) == Layout::kGroups; }
};

inline const TypeKernels& kernels_of(const KernelTable& kernels, TypeId type) {
  return kernels.types[row_index(type)];
}

size_t panel_bytes(TypeId type, uint32_t n_cols);
// Decodes columns [col, col + n), whole blocks, of row `i` in a panel of a stored type.
void decode_row(const PackedMatrix& m, const uint8_t* panel, uint32_t i, uint32_t col, uint32_t n, float* values);
// Replaces row `i` of a panel by one stored row.
void put_row(TypeId type, const std::byte* row, uint32_t n_cols, uint32_t i, uint8_t* panel);

// Errors: InvalidArgument (size of pieces), Unsupported (type), FormatError (a NaN or infinite weight),
// ResourceExhausted.
Result<PackedMatrix> pack_matrix(const MatrixSource& source, ThreadTeam& team, Arena& arena);

}  // namespace realizar::cpu
