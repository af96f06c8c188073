// What AMX adds to AVX-512's table.
constexpr KernelTable make_amx_table(const char* name) {
  KernelTable table = make_table(name, name);
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
