template <class Row>
void put_tiles_of_type(TypeKernels& kernels) {
  if constexpr (Row::kLayout == Layout::kPlain && Row::kId != TypeId::kF32) {
    kernels.unpack_bf16 = unpack_plain_bf16<Row::kId>;
  }
  if constexpr (Row::kLayout == Layout::kGroups) {
    constexpr PanelLayout kPanel{Row::kForm};
    kernels.unpack_bf16 = unpack<kPanel, true>;
    kernels.gemm_int8_tiles = gemm_int8_tiles<kPanel>;
    kernels.int8_tile_cols = kPanel.sub;
  }
}

template <class... Rows>
void put_tiles_of_types(TypeKernels* types, TypeList<Rows...>) {
  (put_tiles_of_type<Rows>(*types++), ...);
}

// Kernels that AMX adds to AVX-512's table.
inline void put_tile_kernels(KernelTable& table) {
  put_tiles_of_types(table.types, TypeRows{});
  table.direct_rows = kDotRows;  // a tile's 16 rows take as long as about 11 rows with VNNI
  table.gemm_bf16_rows = kAmxRows;
  table.gemm_bf16 = gemm_bf16_amx;
  table.gemm_row_tiles = gemm_row_tiles_amx;
  table.configure_tiles = tile_configure;
  table.to_bf16 = to_bf16;
  table.split_bf16 = split_bf16;
  table.split_tile = split_tile;
  table.peak_bf16 = peak_bf16_amx;
}
