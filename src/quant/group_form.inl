// What the codes of a group of 32 columns mean, for each block type: value = scale * (code - offset) - min, where codes
// of other kinds than kPlain first go through a table of 16 levels. For files that are included within a namespace,
// also where functions must not be shared between object files.
enum class Scales {
  kHalf,   // F16 d (and m) a row and group
  kBf16,   // bf16 d a row and group
  kSuper,  // F16 d (and dmin) a row and 256 columns; 8-bit scale (and min) a row and sub-block
};
enum class Codes { kPlain, kIq4, kE2M1 };

struct GroupForm {
  int low, high;  // bits of a code, in two planes
  int offset;
  int max_code;
  Scales scales;
  int sub;  // columns a scale
  bool has_min;
  Codes codes;

  constexpr int n_subs() const { return 32 / sub; }
};

constexpr GroupForm kQ4_0Form{4, 0, 8, 15, Scales::kHalf, 32, false, Codes::kPlain};
constexpr GroupForm kQ4_1Form{4, 0, 0, 15, Scales::kHalf, 32, true, Codes::kPlain};
constexpr GroupForm kQ5_0Form{4, 1, 16, 31, Scales::kHalf, 32, false, Codes::kPlain};
constexpr GroupForm kQ5_1Form{4, 1, 0, 31, Scales::kHalf, 32, true, Codes::kPlain};
constexpr GroupForm kQ8_0Form{8, 0, 128, 255, Scales::kHalf, 32, false, Codes::kPlain};
constexpr GroupForm kIQ4_NLForm{4, 0, 128, 255, Scales::kHalf, 32, false, Codes::kIq4};
constexpr GroupForm kMXFP4Form{4, 0, 12, 24, Scales::kBf16, 32, false, Codes::kE2M1};
constexpr GroupForm kQ2_KForm{2, 0, 0, 3, Scales::kSuper, 16, true, Codes::kPlain};
constexpr GroupForm kQ3_KForm{2, 1, 4, 7, Scales::kSuper, 16, false, Codes::kPlain};
constexpr GroupForm kQ4_KForm{4, 0, 0, 15, Scales::kSuper, 32, true, Codes::kPlain};
constexpr GroupForm kQ5_KForm{4, 1, 0, 31, Scales::kSuper, 32, true, Codes::kPlain};
constexpr GroupForm kQ6_KForm{4, 2, 32, 63, Scales::kSuper, 16, false, Codes::kPlain};
constexpr GroupForm kIQ4_XSForm{4, 0, 128, 255, Scales::kSuper, 32, false, Codes::kIq4};
