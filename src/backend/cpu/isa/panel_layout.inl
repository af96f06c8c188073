// How block types lie in panels: 16 rows side by side, in groups of 32 columns. A group is its scales followed by its
// codes. Codes are unsigned; 64 bytes ("vector" j of 8) hold columns 4j..4j+3 of each of the 16 rows, and planes of
// fewer bits share bytes: plane vector s keeps the bits of vectors s, s + n, s + 2n.. at rising positions, where n is
// the number of the plane's vectors. Value = scale * (code - offset) - min.
enum class Scales {
  kHalf,   // F16 d (and m) a row and group
  kBf16,   // bf16 d a row and group
  kSuper,  // F16 d (and dmin) a row and 256 columns; 8-bit scale (and min) a row and sub-block
};
enum class Codes { kPlain, kIq4, kE2M1 };

struct PanelLayout {
  int low, high;  // bits in the low and high plane
  int offset;
  int max_code;
  Scales scales;
  int sub;  // columns a scale
  bool has_min;
  Codes codes;

  constexpr int n_subs() const { return 32 / sub; }
  constexpr int header_bytes() const {
    return scales == Scales::kSuper ? (has_min ? 64 : 32) : 0;
  }  // every 256 columns
  constexpr int scale_bytes() const { return (scales == Scales::kSuper ? 16 * n_subs() : 32) * (has_min ? 2 : 1); }
  constexpr int group_bytes() const { return scale_bytes() + 64 * (low + high); }
  constexpr int super_bytes() const { return header_bytes() + 8 * group_bytes(); }
  [[gnu::always_inline]] constexpr size_t group_at(size_t g) const {
    return scales == Scales::kSuper ? g / 8 * super_bytes() + header_bytes() + g % 8 * group_bytes()
                                    : g * group_bytes();
  }
  [[gnu::always_inline]] constexpr size_t header_at(size_t g) const { return g / 8 * super_bytes(); }
};

// In the order of PanelKind, from kQ4_0 on.
constexpr PanelLayout kQ4_0Layout{4, 0, 8, 15, Scales::kHalf, 32, false, Codes::kPlain};
constexpr PanelLayout kQ4_1Layout{4, 0, 0, 15, Scales::kHalf, 32, true, Codes::kPlain};
constexpr PanelLayout kQ5_0Layout{4, 1, 16, 31, Scales::kHalf, 32, false, Codes::kPlain};
constexpr PanelLayout kQ5_1Layout{4, 1, 0, 31, Scales::kHalf, 32, true, Codes::kPlain};
constexpr PanelLayout kQ8_0Layout{8, 0, 128, 255, Scales::kHalf, 32, false, Codes::kPlain};
constexpr PanelLayout kIQ4_NLLayout{4, 0, 128, 255, Scales::kHalf, 32, false, Codes::kIq4};
constexpr PanelLayout kMXFP4Layout{4, 0, 12, 24, Scales::kBf16, 32, false, Codes::kE2M1};
constexpr PanelLayout kQ2_KLayout{2, 0, 0, 3, Scales::kSuper, 16, true, Codes::kPlain};
constexpr PanelLayout kQ3_KLayout{2, 1, 4, 7, Scales::kSuper, 16, false, Codes::kPlain};
constexpr PanelLayout kQ4_KLayout{4, 0, 0, 15, Scales::kSuper, 32, true, Codes::kPlain};
constexpr PanelLayout kQ5_KLayout{4, 1, 0, 31, Scales::kSuper, 32, true, Codes::kPlain};
constexpr PanelLayout kQ6_KLayout{4, 2, 32, 63, Scales::kSuper, 16, false, Codes::kPlain};
constexpr PanelLayout kIQ4_XSLayout{4, 0, 128, 255, Scales::kSuper, 32, false, Codes::kIq4};
