// Weight forms: what a lane of a warp adds to the dot products of one weight row with some activation rows, and a
// single value. One struct a family; the block types differ in their GroupForm alone.

#include "quant/group_form.inl"

RZ_DEVICE int32_t code_mask(int bits) {
  return static_cast<int32_t>(0x01010101u * ((1u << bits) - 1));
}

// The signed bytes of a table of 16 at the four nibbles of `codes`.
RZ_DEVICE int32_t look_up(const uint32_t (&table)[4], int32_t codes) {
  uint32_t bytes = 0;
  for (int i = 0; i < 4; ++i) {
    const uint32_t code = (static_cast<uint32_t>(codes) >> (8 * i)) & 15;
    bytes |= ((table[code / 4] >> (8 * (code % 4))) & 255) << (8 * i);
  }
  return static_cast<int32_t>(bytes);
}

// kIq4Values and kE2M1Doubled of quant/blocks.h, four a word.
RZ_DEVICE int32_t look_up(Codes codes, int32_t word) {
  constexpr uint32_t kIq4[4] = {0xbfad9881u, 0xf6eaddcfu, 0x26190d01u, 0x71594535u};
  constexpr uint32_t kE2M1[4] = {0x03020100u, 0x0c080604u, 0xfdfeff00u, 0xf4f8fafcu};
  return codes == Codes::kIq4 ? look_up(kIq4, word) : look_up(kE2M1, word);
}

template <GroupForm form>
struct BlockFormat {
  static constexpr bool kIsPlain = false;
  static constexpr GroupForm kForm = form;
  static constexpr int kOffset = form.low == 8 || form.codes != Codes::kPlain ? 0 : form.offset;
  static constexpr int kHeaders = form.has_min ? 2 : 1;

  // A group's scales: value = d * scale[h] * code - m * min[h] for half h of the group.
  struct GroupScales {
    float d, m;
    int32_t scale[2], min[2];
  };

  RZ_DEVICE static uint64_t group_idx(const Matrix& m, uint64_t row, uint32_t g) {
    return row * (m.n_cols / kGroupCols) + g;
  }

  // Four signed codes a word.
  RZ_DEVICE static void load_codes(const Matrix& m, uint64_t row, uint32_t g, int32_t (&words)[8]) {
    uint32_t low[form.low];
    const uint32_t* from = m.low + group_idx(m, row, g) * form.low;
    if constexpr (form.low >= 4) {
      for (int i = 0; i < form.low; i += 4) {
        const Words4 four = load_words4(from + i);
        for (int j = 0; j < 4; ++j) low[i + j] = four.word[j];
      }
    } else {
      for (int i = 0; i < form.low; ++i) low[i] = from[i];
    }
    for (int k = 0; k < 8; ++k) {
      words[k] = static_cast<int32_t>(low[k % form.low] >> (k / form.low * form.low)) & code_mask(form.low);
    }
    if constexpr (form.high > 0) {
      const uint32_t* high = m.high + group_idx(m, row, g) * form.high;
      for (int k = 0; k < 8; ++k) {
        const auto bits = static_cast<int32_t>(high[k % form.high] >> (k / form.high * form.high));
        words[k] |= (bits & code_mask(form.high)) << form.low;
      }
    }
    if constexpr (form.codes != Codes::kPlain) {
      for (int k = 0; k < 8; ++k) words[k] = look_up(form.codes, words[k]);
    }
    // Q8_0's codes lie 128 up, which as a byte is the sign bit.
    if constexpr (form.low == 8) {
      for (int k = 0; k < 8; ++k) words[k] ^= static_cast<int32_t>(0x80808080u);
    }
  }

  // The k-th word of load_codes alone.
  RZ_DEVICE static uint32_t load_word(const Matrix& m, uint64_t row, uint32_t g, uint32_t k) {
    const uint64_t at = group_idx(m, row, g);
    uint32_t word =
        (m.low[at * form.low + k % form.low] >> (k / form.low * form.low)) & static_cast<uint32_t>(code_mask(form.low));
    if constexpr (form.high > 0) {
      const uint32_t bits = m.high[at * form.high + k % form.high] >> (k / form.high * form.high);
      word |= (bits & static_cast<uint32_t>(code_mask(form.high))) << form.low;
    }
    if constexpr (form.codes != Codes::kPlain)
      word = static_cast<uint32_t>(look_up(form.codes, static_cast<int32_t>(word)));
    if constexpr (form.low == 8) word ^= 0x80808080u;
    return word;
  }

  RZ_DEVICE static GroupScales load_scales(const Matrix& m, uint64_t row, uint32_t g) {
    GroupScales s{0, 0, {1, 1}, {0, 0}};
    if constexpr (form.scales == Scales::kSuper) {
      const uint16_t* header = m.headers + (row * (m.n_cols / 256) + g / 8) * kHeaders;
      s.d = half_to_float(header[0]);
      const int8_t* scales = m.scales + group_idx(m, row, g) * form.n_subs() * kHeaders;
      for (int h = 0; h < 2; ++h) s.scale[h] = scales[h * (form.n_subs() - 1)];
      if constexpr (form.has_min) {
        s.m = half_to_float(header[1]);
        for (int h = 0; h < 2; ++h) s.min[h] = scales[form.n_subs() + h * (form.n_subs() - 1)];
      }
    } else {
      const uint16_t* header = m.headers + group_idx(m, row, g) * kHeaders;
      s.d = form.scales == Scales::kHalf ? half_to_float(header[0]) : bfloat_to_float(header[0]);
      if constexpr (form.has_min) {
        s.m = -half_to_float(header[1]);
        s.min[0] = s.min[1] = 1;
      }
    }
    return s;
  }

  // A group's product with 32 quantized activations, less their scale, from the integer products of its halves (or of
  // the whole in `first`, where the halves share a scale). The integers are exact.
  RZ_DEVICE static float scaled(const GroupScales& s, int32_t first, int32_t second, int32_t halves) {
    const int32_t sums[2] = {static_cast<int16_t>(halves & 0xffff), halves >> 16};
    int32_t total = 0;
    if constexpr (form.scales == Scales::kSuper && form.sub == 16) {
      total = s.scale[0] * (first - kOffset * sums[0]) + s.scale[1] * (second - kOffset * sums[1]);
    } else {
      total = s.scale[0] * (first + second - kOffset * (sums[0] + sums[1]));
    }
    const float value = s.d * static_cast<float>(total);
    if constexpr (!form.has_min) return value;
    return fmaf(-s.m, static_cast<float>(s.min[0] * sums[0] + s.min[1] * sums[1]), value);
  }

  RZ_DEVICE static float multiply(const int32_t (&words)[8], const GroupScales& s, const int32_t (&codes)[8],
                                  int32_t halves) {
    int32_t first = 0, second = 0;
    for (int k = 0; k < 4; ++k) {
      first = dot4(words[k], codes[k], first);
      second = dot4(words[4 + k], codes[4 + k], second);
    }
    return scaled(s, first, second, halves);
  }

  // Adds what `lane` has of weight row `row` times each of the rows.
  template <int kRows>
  RZ_DEVICE static void dot(const Matrix& m, uint64_t row, const float*, const QuantRows& in,
                            const uint32_t (&rows)[kRows], uint32_t lane, float (&sums)[kRows]) {
    const uint32_t n_groups = m.n_cols / kGroupCols;
    for (uint32_t g = lane; g < n_groups; g += 32) {
      int32_t words[8];
      load_codes(m, row, g, words);
      const GroupScales scales = load_scales(m, row, g);
      for (int r = 0; r < kRows; ++r) {
        const uint64_t at = uint64_t{rows[r]} * n_groups + g;
        const Words4 first = load_words4(in.codes + 8 * at), second = load_words4(in.codes + 8 * at + 4);
        int32_t codes[8];
        for (int k = 0; k < 4; ++k) {
          codes[k] = static_cast<int32_t>(first.word[k]);
          codes[4 + k] = static_cast<int32_t>(second.word[k]);
        }
        sums[r] = fmaf(in.scales[at], multiply(words, scales, codes, in.halves[at]), sums[r]);
      }
    }
  }

  RZ_DEVICE static float value(const Matrix& m, uint64_t row, uint32_t col) {
    const uint32_t g = col / kGroupCols, i = col % kGroupCols;
    int32_t words[8];
    load_codes(m, row, g, words);
    const GroupScales s = load_scales(m, row, g);
    int32_t word = 0;
    for (uint32_t k = 0; k < 8; ++k) word = k == i / 4 ? words[k] : word;
    const int32_t code = static_cast<int8_t>(word >> (8 * (i % 4))) - kOffset;
    const float scaled = s.d * static_cast<float>((i < 16 ? s.scale[0] : s.scale[1]) * code);
    return form.has_min ? fmaf(-s.m, static_cast<float>(i < 16 ? s.min[0] : s.min[1]), scaled) : scaled;
  }
};

struct F32Element {
  using Stored = float;
  RZ_DEVICE static float value(float x) { return x; }
};
struct F16Element {
  using Stored = uint16_t;
  RZ_DEVICE static float value(uint16_t x) { return half_to_float(x); }
};
struct BF16Element {
  using Stored = uint16_t;
  RZ_DEVICE static float value(uint16_t x) { return bfloat_to_float(x); }
};

// Elements from one row to the next.
RZ_DEVICE uint32_t plain_stride(uint32_t n_cols) {
  return (n_cols + kGroupCols - 1) / kGroupCols * kGroupCols;
}

template <class Element>
struct PlainFormat {
  static constexpr bool kIsPlain = true;

  template <int kRows>
  RZ_DEVICE static void dot(const Matrix& m, uint64_t row, const float* in, const QuantRows&,
                            const uint32_t (&rows)[kRows], uint32_t lane, float (&sums)[kRows]) {
    const auto* weights = reinterpret_cast<const typename Element::Stored*>(m.low) + row * plain_stride(m.n_cols);
    for (uint32_t c = lane; c < m.n_cols; c += 32) {
      const float weight = Element::value(weights[c]);
      for (int r = 0; r < kRows; ++r) sums[r] = fmaf(weight, in[uint64_t{rows[r]} * m.n_cols + c], sums[r]);
    }
  }

  RZ_DEVICE static float value(const Matrix& m, uint64_t row, uint32_t col) {
    return Element::value(reinterpret_cast<const typename Element::Stored*>(m.low)[row * plain_stride(m.n_cols) + col]);
  }
};

// Types of their own: nvcc cannot name kernels of templates over values of a class.
struct Q4_0Format : BlockFormat<kQ4_0Form> {};
struct Q4_1Format : BlockFormat<kQ4_1Form> {};
struct Q5_0Format : BlockFormat<kQ5_0Form> {};
struct Q5_1Format : BlockFormat<kQ5_1Form> {};
struct Q8_0Format : BlockFormat<kQ8_0Form> {};
struct IQ4_NLFormat : BlockFormat<kIQ4_NLForm> {};
struct MXFP4Format : BlockFormat<kMXFP4Form> {};
struct Q2_KFormat : BlockFormat<kQ2_KForm> {};
struct Q3_KFormat : BlockFormat<kQ3_KForm> {};
struct Q4_KFormat : BlockFormat<kQ4_KForm> {};
struct Q5_KFormat : BlockFormat<kQ5_KForm> {};
struct Q6_KFormat : BlockFormat<kQ6_KForm> {};
struct IQ4_XSFormat : BlockFormat<kIQ4_XSForm> {};

// Calls body(format) with the format of a form.
template <class Body>
void with_format(Form form, const Body& body) {
  switch (form) {
    case Form::kF32:
      return body(PlainFormat<F32Element>{});
    case Form::kF16:
      return body(PlainFormat<F16Element>{});
    case Form::kBF16:
      return body(PlainFormat<BF16Element>{});
    case Form::kQ4_0:
      return body(Q4_0Format{});
    case Form::kQ4_1:
      return body(Q4_1Format{});
    case Form::kQ5_0:
      return body(Q5_0Format{});
    case Form::kQ5_1:
      return body(Q5_1Format{});
    case Form::kQ8_0:
      return body(Q8_0Format{});
    case Form::kIQ4_NL:
      return body(IQ4_NLFormat{});
    case Form::kMXFP4:
      return body(MXFP4Format{});
    case Form::kQ2_K:
      return body(Q2_KFormat{});
    case Form::kQ3_K:
      return body(Q3_KFormat{});
    case Form::kQ4_K:
      return body(Q4_KFormat{});
    case Form::kQ5_K:
      return body(Q5_KFormat{});
    case Form::kQ6_K:
      return body(Q6_KFormat{});
    case Form::kIQ4_XS:
      return body(IQ4_XSFormat{});
    case Form::kCount:
      return;
  }
}
