// F32 activations as sums of two F16 or bf16 values, for the matrix instructions of these types.

// place_of(w): position of word w in a row of activations.
struct HalfSplit {
  static constexpr bool kIsF8 = false;
  RZ_DEVICE static uint32_t place_of(uint32_t w) { return w; }
  RZ_DEVICE static uint16_t round(float x) { return float_to_half(x); }
  RZ_DEVICE static float value(uint16_t x) { return half_to_float(x); }
  RZ_DEVICE static void multiply(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    mma_half_k16(c, a, b);
  }
};
// A lane's word of codes has 4 consecutive columns, so words of activations are permuted likewise in 16 columns.
struct F8Split : HalfSplit {
  static constexpr bool kIsF8 = true;
  RZ_DEVICE static uint32_t place_of(uint32_t w) { return w / 8 * 8 + w % 2 * 4 + w % 8 / 2; }
};
struct BfloatSplit {
  static constexpr bool kIsF8 = false;
  RZ_DEVICE static uint32_t place_of(uint32_t w) { return w; }
  RZ_DEVICE static uint16_t round(float x) { return float_to_bfloat(x); }
  RZ_DEVICE static float value(uint16_t x) { return bfloat_to_float(x); }
  RZ_DEVICE static void multiply(float (&c)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
    mma_bfloat_k16(c, a, b);
  }
};

template <class Body>
void with_split(TypeId type, const Body& body) {
  if (type == TypeId::kF16) body(HalfSplit{});
  if (type == TypeId::kBF16) body(BfloatSplit{});
  if (type == TypeId::kF8_E4M3) body(F8Split{});
}
