// Layout of weights in memory and meaning of their products: one struct per layout; types differ only in their rows.

RZ_DEVICE int32_t code_mask(int bits) {
  return static_cast<int32_t>(0x01010101u * ((1u << bits) - 1));
}

// Looks up four codes, one per byte, in a table of 16 bytes: in both halves of the table, then selects one.
RZ_DEVICE int32_t look_up_levels(uint32_t low0, uint32_t low1, uint32_t high0, uint32_t high1, int32_t codes) {
  const auto word = static_cast<uint32_t>(codes);
  const uint32_t nibbles = permute_bytes(word | (word >> 4), 0, 0x4420);
  const uint32_t in_half = nibbles & 0x7777, half = (nibbles & 0x8888) >> 1;
  return static_cast<int32_t>(
      permute_bytes(permute_bytes(low0, low1, in_half), permute_bytes(high0, high1, in_half), 0x3210 | half));
}

// Four levels starting at `first`, one per byte.
constexpr uint32_t level_word(CodeLevels levels, int first) {
  uint32_t word = 0;
  for (int k = 0; k < 4; ++k) word |= static_cast<uint32_t>(static_cast<uint8_t>(levels.level[first + k])) << (8 * k);
  return word;
}

template <Codes kCodes>
struct LevelWords {
  static constexpr uint32_t kLow0 = level_word(levels_of(kCodes), 0), kLow1 = level_word(levels_of(kCodes), 4);
  static constexpr uint32_t kHigh0 = level_word(levels_of(kCodes), 8), kHigh1 = level_word(levels_of(kCodes), 12);

  RZ_DEVICE static int32_t look_up(int32_t codes) { return look_up_levels(kLow0, kLow1, kHigh0, kHigh1, codes); }
};

// Loads `n` words, aligned to all of them or to 4.
template <int n>
RZ_DEVICE void load_words(const uint32_t* from, uint32_t (&words)[n]) {
  if constexpr (n >= 4) {
    for (int i = 0; i < n; i += 4) {
      const Words4 four = load_words4(from + i);
      for (int j = 0; j < 4; ++j) words[i + j] = four.word[j];
    }
  } else if constexpr (n == 2) {
    const Words2 two = load_words2(from);
    for (int j = 0; j < 2; ++j) words[j] = two.word[j];
  } else {
    words[0] = *from;
  }
}

// The lowest `n` bytes of a word, 1, 2 or 4; aligned.
template <int n>
RZ_DEVICE uint32_t load_bytes(const void* from) {
  if constexpr (n == 1) return *static_cast<const uint8_t*>(from);
  if constexpr (n == 2) return *static_cast<const uint16_t*>(from);
  if constexpr (n == 4) return *static_cast<const uint32_t*>(from);
}

// The E4M3 number in byte i. As load_f8 on the CPU (panel_layout.inl), the byte is shifted to the top, then to the
// positions of a float's bits. The two NaN codes would be 480 here and NaN in some GPUs' conversions: weights with them
// are refused at load, so that prefill and decode agree on all codes.
RZ_DEVICE float f8_value(uint32_t word, uint32_t i) {
  const auto bits = static_cast<uint32_t>(static_cast<int32_t>(word << (24 - 8 * i)) >> 4);
  return float_of_bits(bits & 0x87f00000u) * 0x1p120f;
}

RZ_DEVICE float signed_byte(uint32_t word, int i) {
  return static_cast<float>(static_cast<int8_t>(word >> (8 * i)));
}

// Initial value of integer sums: as the bits of an F32 they then exceed the sum by this number, so that one subtraction
// converts them, exactly while the sum is less than 2^22.
constexpr int32_t kSumStart = 0x4b400000;
RZ_DEVICE float float_of_sum(int32_t sum) {
  return float_of_bits(static_cast<uint32_t>(sum)) - 12582912.0f;
}

// The sums of an activation group's halves, as packed in QuantRows.
RZ_DEVICE int32_t first_half(int32_t halves) {
  return static_cast<int16_t>(halves & 0xffff);
}
RZ_DEVICE int32_t second_half(int32_t halves) {
  return halves >> 16;
}

template <TypeId kType>
struct GroupFormat {
  static constexpr bool kHasGroups = true;
  static constexpr GroupForm form = realizar::form_of(kType);
  static constexpr int kSubs = 32 / form.sub;
  static constexpr int kOffset = form.low == 8 || form.codes != Codes::kPlain ? 0 : form.offset;
  static constexpr int kHeaders = form.has_min ? 2 : 1;
  static constexpr bool kIsSuper = form.scales == Scales::kSuper;
  static constexpr bool kHasRowFactor = form.scales == Scales::kE4M3;  // F32, including the divisor
  static constexpr int kScaleBytes = kIsSuper || kHasRowFactor ? kSubs * kHeaders : 0;
  // Whether the halves of a group have separate scales.
  static constexpr bool kHasHalves = kScaleBytes > 0 && form.sub == 16;
  static constexpr int kScalesEach = kHasHalves ? 3 : 1;
  static constexpr int kScales = kScalesEach * kHeaders;
  static constexpr int kSums = form.has_min ? (kHasHalves ? 2 : 1) : 0;  // sums of activations used by `scaled`

  // A group in memory.
  struct Stored {
    uint32_t low[form.low], high[form.high > 0 ? form.high : 1], header, scales;
  };
  // {d, scale and scale of the halves}, and likewise for the minimum; without halves {d * scale}, which is exact: an
  // F16 times an integer of at most 8 bits. d includes the divisor.
  struct GroupScales {
    float value[kScales];
  };

  RZ_DEVICE static Stored load(const Matrix& m, uint64_t row, uint32_t g) {
    const uint64_t at = row * (m.n_cols / kGroupCols) + g;
    Stored s{};
    load_words(m.low + at * form.low, s.low);
    if constexpr (form.high > 0) load_words(m.high + at * form.high, s.high);
    const uint64_t header_at = kIsSuper ? row * (m.n_cols / 256) + g / 8 : at;
    if constexpr (kHasRowFactor) s.header = load_bytes<4>(m.headers + row * 2);
    if constexpr (!kHasRowFactor) s.header = load_bytes<2 * kHeaders>(m.headers + header_at * kHeaders);
    if constexpr (kScaleBytes > 0) s.scales = load_bytes<kScaleBytes>(m.scales + at * kScaleBytes);
    return s;
  }

  // Four unsigned codes per word, raised by kOffset.
  RZ_DEVICE static void raised_codes(const Stored& s, int32_t (&words)[8]) {
    for (int k = 0; k < 8; ++k) {
      words[k] = static_cast<int32_t>(s.low[k % form.low] >> (k / form.low * form.low)) & code_mask(form.low);
    }
    if constexpr (form.high > 0) {
      for (int k = 0; k < 8; ++k) {
        const auto bits = static_cast<int32_t>(s.high[k % form.high] >> (k / form.high * form.high));
        words[k] |= (bits & code_mask(form.high)) << form.low;
      }
    }
    if constexpr (form.codes != Codes::kPlain) {
      for (int k = 0; k < 8; ++k) words[k] = LevelWords<form.codes>::look_up(words[k]);
    }
    // Q8_0's codes are raised by 128, which in a byte flips the sign bit.
    if constexpr (form.low == 8) {
      for (int k = 0; k < 8; ++k) words[k] ^= static_cast<int32_t>(0x80808080u);
    }
  }

  RZ_DEVICE static void codes(const Stored& s, int32_t (&words)[8]) {
    raised_codes(s, words);
    if constexpr (kOffset > 0) {
      // Byte-wise, with the sign bit set in between so that no byte borrows from the next.
      for (int k = 0; k < 8; ++k) {
        const uint32_t raised = static_cast<uint32_t>(words[k]) | 0x80808080u;
        words[k] = static_cast<int32_t>((raised - 0x01010101u * static_cast<uint32_t>(kOffset)) ^ 0x80808080u);
      }
    }
  }

  RZ_DEVICE static GroupScales group_scales(const Stored& s) {
    GroupScales scales;
    for (int i = 0; i < kHeaders; ++i) {
      const auto bits = static_cast<uint16_t>(s.header >> (16 * i));
      float* of = scales.value + i * kScalesEach;
      of[0] = form.scales == Scales::kBf16 ? bfloat_to_float(bits) : half_to_float(bits);
      if constexpr (kHasRowFactor) of[0] = float_of_bits(s.header);
      if (i == 0 && !kHasRowFactor && form.divisor != 1) of[0] *= 1.0f / form.divisor;
      if (i == 1 && !kIsSuper) of[0] = -of[0];  // m is added
      if constexpr (kHasHalves) {
        for (int h = 0; h < 2; ++h) {
          of[1 + h] = kHasRowFactor ? f8_value(s.scales, static_cast<uint32_t>(h)) : signed_byte(s.scales, 2 * i + h);
        }
      } else if constexpr (kIsSuper) {
        of[0] *= signed_byte(s.scales, i);
      }
    }
    return scales;
  }

  // A group's product with 32 quantized activations, without their scale, from the integer products of its halves (or
  // of the whole group in `first`, if they share a scale) and from the sums of the activations' halves (or of all in
  // `first_sum`). All roundings but the last are exact.
  RZ_DEVICE static float scaled(const GroupScales& s, float first, float second, float first_sum, float second_sum) {
    const float* v = s.value;
    if constexpr (kHasHalves) {
      const float y = v[0] * fmaf(v[2], second, v[1] * first);
      if constexpr (!form.has_min) return y;
      if constexpr (form.has_min) return fmaf(-v[3], fmaf(v[5], second_sum, v[4] * first_sum), y);
    } else {
      const float y = v[0] * first;
      if constexpr (!form.has_min) return y;
      if constexpr (form.has_min) return fmaf(-v[1], first_sum, y);
    }
  }

  // `scaled` from the codes.
  RZ_DEVICE static float multiply(const int32_t (&words)[8], const GroupScales& s, const int32_t (&codes)[8],
                                  int32_t halves) {
    const int32_t sums[2] = {first_half(halves), second_half(halves)};
    int32_t first = kSumStart - kOffset * (kHasHalves ? sums[0] : sums[0] + sums[1]);
    int32_t second = kHasHalves ? kSumStart - kOffset * sums[1] : 0;
    for (int k = 0; k < 4; ++k) {
      first = dot4(words[k], codes[k], first);
      second = dot4(words[4 + k], codes[4 + k], second);
    }
    if constexpr (kHasHalves) {
      return scaled(s, float_of_sum(first), float_of_sum(second), static_cast<float>(sums[0]),
                    static_cast<float>(sums[1]));
    } else {
      return scaled(s, float_of_sum(first + second), 0, static_cast<float>(sums[0] + sums[1]), 0);
    }
  }

  RZ_DEVICE static float value(const Matrix& m, uint64_t row, uint32_t col) {
    const uint32_t i = col % kGroupCols;
    const Stored stored = load(m, row, col / kGroupCols);
    int32_t words[8];
    codes(stored, words);
    int32_t word = 0;
    for (uint32_t k = 0; k < 8; ++k) word = k == i / 4 ? words[k] : word;
    const float code = signed_byte(static_cast<uint32_t>(word), static_cast<int>(i % 4));
    const bool is_first = !kHasHalves || i < 16;
    return scaled(group_scales(stored), is_first ? code : 0, is_first ? 0 : code, is_first ? 1 : 0, is_first ? 0 : 1);
  }
};

// Elements and their number per word; value(word, i) is the i-th. kIsScaled: kF8ScaleCols of them share a scale.
template <TypeId kType>
struct PlainElement;
template <>
struct PlainElement<TypeId::kF32> {
  static constexpr bool kIsScaled = false;
  using Stored = float;
  static constexpr uint32_t kEach = 1;
  RZ_DEVICE static float value(float x) { return x; }
  RZ_DEVICE static float value(uint32_t word, uint32_t) { return float_of_bits(word); }
};
template <>
struct PlainElement<TypeId::kF16> {
  static constexpr bool kIsScaled = false;
  using Stored = uint16_t;
  static constexpr uint32_t kEach = 2;
  RZ_DEVICE static float value(uint16_t x) { return half_to_float(x); }
  RZ_DEVICE static float value(uint32_t word, uint32_t i) {
    return half_to_float(static_cast<uint16_t>(word >> (16 * i)));
  }
};
template <>
struct PlainElement<TypeId::kBF16> {
  static constexpr bool kIsScaled = false;
  using Stored = uint16_t;
  static constexpr uint32_t kEach = 2;
  RZ_DEVICE static float value(uint16_t x) { return bfloat_to_float(x); }
  RZ_DEVICE static float value(uint32_t word, uint32_t i) {
    return bfloat_to_float(static_cast<uint16_t>(word >> (16 * i)));
  }
};

template <>
struct PlainElement<TypeId::kF8_E4M3> {
  static constexpr bool kIsScaled = true;
  using Stored = uint8_t;
  static constexpr uint32_t kEach = 4;
  RZ_DEVICE static float value(uint8_t x) { return value(x, 0); }
  RZ_DEVICE static float value(uint32_t word, uint32_t i) { return f8_value(word, i); }
};

// Elements between rows.
RZ_DEVICE uint32_t plain_stride(uint32_t n_cols) {
  return (n_cols + kGroupCols - 1) / kGroupCols * kGroupCols;
}

template <TypeId kType>
struct PlainFormat {
  static constexpr bool kHasGroups = false, kHasSplits = kType != TypeId::kF32;
  using Element = PlainElement<kType>;

  RZ_DEVICE static const typename Element::Stored* row_of(const Matrix& m, uint64_t row) {
    return reinterpret_cast<const typename Element::Stored*>(m.low) + row * plain_stride(m.n_cols);
  }
  // The scale of `col`, shared with neighbouring columns.
  RZ_DEVICE static float scale(const Matrix& m, uint64_t row, uint32_t col) {
    if constexpr (!Element::kIsScaled) return 1.0f;
    return reinterpret_cast<const float*>(m.headers)[row * f8_n_scales(m.n_cols) + col / kF8ScaleCols];
  }
  RZ_DEVICE static float value(const Matrix& m, uint64_t row, uint32_t col) {
    return Element::value(row_of(m, row)[col]) * scale(m, row, col);
  }
};

#define RZ_VALUE RZ_DEVICE
#include "quant/decode.inl"

template <class Block, uint32_t kElems>
struct StoredFormat {
  static constexpr bool kHasGroups = false, kHasSplits = false;

  RZ_DEVICE static float value(const Matrix& m, uint64_t row, uint32_t col) {
    const Block* blocks = reinterpret_cast<const Block*>(m.low) + row * (m.n_cols / kElems);
    return value_of(blocks[col / kElems], static_cast<int>(col % kElems));
  }
};

// The format of a row, which is part of kernels' names: nvcc cannot name templates over class values, as rows are.
template <class Row>
constexpr auto format_of() {
  if constexpr (Row::kLayout == Layout::kPlain) return PlainFormat<Row::kId>{};
  if constexpr (Row::kLayout == Layout::kGroups) return GroupFormat<Row::kId>{};
  if constexpr (Row::kLayout == Layout::kStored) return StoredFormat<typename Row::Block, Row::kElems>{};
}

// Calls body(format) with the format of a type.
template <class Body>
void with_format(TypeId type, const Body& body) {
  with_row(type, [&]<class Row>(Row) { body(format_of<Row>()); });
}
