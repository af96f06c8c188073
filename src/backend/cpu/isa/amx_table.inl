template <class Row>
constexpr void use_int8_tiles(TypeKernels& kernels) {
  if constexpr (Row::kLayout == Layout::kGroups) {
    constexpr PanelLayout kPanel{Row::kForm};
    kernels.gemm_int8 = gemm_int8_tiles<kPanel>;
    kernels.int8_tile_cols = kPanel.sub;
  }
}

template <class... Rows>
constexpr void put_int8_tiles(TypeKernels* types, TypeList<Rows...>) {
  (use_int8_tiles<Rows>(*types++), ...);
}

// What AMX adds to AVX-512's table.
constexpr KernelTable make_amx_table(const char* name) {
  KernelTable table = make_table(name, name);
  table.direct_rows = kDotRows;  // a tile's 16 rows take as long as some 11 of VNNI do
  put_int8_tiles(table.types, TypeRows{});
  table.gemm_bf16_rows = kAmxRows;
  table.gemm_bf16 = gemm_bf16_amx;
  table.gemm_row_tiles = gemm_row_tiles_amx;
  table.configure_tiles = tile_configure;
  table.to_bf16 = to_bf16;
  table.split_bf16 = split_bf16;
  table.split_tile = split_tile;
  table.peak_bf16 = peak_bf16_amx;
  return table;
}
