// Layout of group types in panels: 16 rows interleaved, in groups of 32 columns. A group is its scales followed by its
// codes. Codes are unsigned; 64 bytes ("vector" j of 8) hold columns 4j..4j+3 of each of the 16 rows, and planes of
// fewer bits share bytes: plane vector s holds the bits of vectors s, s + n, s + 2n.. at ascending positions, where n
// is the number of vectors in the plane. Value = scale / divisor * (code - offset) - min.

// E4M3 bits shifted to a float's sign, exponent and mantissa are 2^120 too small (quant/half.h); the mask removes other
// shifted bits. The code of NaN reads as 480.
constexpr int32_t kF8Bits = static_cast<int32_t>(0x87f00000u);
constexpr float kF8Scale = 0x1p120f;

// A panel of F8: for every 128 columns the scales of the 16 rows, then the codes [columns][16].
struct F8Panel {
  static constexpr uint32_t kScaleCols = 128;
  static constexpr size_t kScaleBytes = 16 * sizeof(float);

  static constexpr size_t bytes(uint32_t n_cols) { return codes_at(n_cols - 1) + 16; }
  static constexpr size_t codes_at(uint32_t col) { return (col / kScaleCols + 1) * kScaleBytes + size_t{16} * col; }
  static constexpr size_t scales_at(uint32_t col) { return col / kScaleCols * (kScaleBytes + size_t{16} * kScaleCols); }
  static const float* scales(const uint8_t* panel, uint32_t col) {
    return reinterpret_cast<const float*>(panel + scales_at(col));
  }
};

struct PanelLayout : GroupForm {
  constexpr int n_subs() const { return 32 / sub; }
  constexpr int header_bytes() const {
    return scales == Scales::kSuper ? (has_min ? 64 : 32) : 0;
  }  // every 256 columns
  constexpr bool has_scale_bytes() const { return scales == Scales::kSuper || scales == Scales::kE4M3; }
  constexpr int scale_bytes() const { return (has_scale_bytes() ? 16 * n_subs() : 32) * (has_min ? 2 : 1); }
  constexpr int group_bytes() const { return scale_bytes() + 64 * (low + high); }
  // F32 d of the 16 rows, before all groups.
  constexpr int row_factor_bytes() const { return scales == Scales::kE4M3 ? 64 : 0; }
  constexpr int super_bytes() const { return header_bytes() + 8 * group_bytes(); }
  [[gnu::always_inline]] constexpr size_t group_at(size_t g) const {
    return scales == Scales::kSuper ? g / 8 * super_bytes() + header_bytes() + g % 8 * group_bytes()
                                    : row_factor_bytes() + g * group_bytes();
  }
  [[gnu::always_inline]] constexpr size_t header_at(size_t g) const {
    return scales == Scales::kSuper ? g / 8 * super_bytes() : 0;
  }
};
