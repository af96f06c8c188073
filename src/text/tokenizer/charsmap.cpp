// SentencePiece's precompiled_charsmap: a double array of UTF-8 strings (Aoe 1989, in the layout of darts-clone) whose
// values are offsets of NUL-terminated replacements. Layout: size of the array in bytes (u32), the array's units (u32),
// replacements.
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "base/try.h"
#include "text/tokenizer/builders.h"
#include "text/utf8.h"

namespace realizar::text {
namespace {

constexpr size_t kMaxKeyBytes = 256;           // far above any rule of a published normalizer
constexpr size_t kMaxReplacementBytes = 1024;  // so that a text cannot grow without bound

class TrieUnit {
 public:
  explicit TrieUnit(uint32_t bits) : bits_(bits) {}
  bool has_leaf() const { return (bits_ >> 8) & 1; }
  uint32_t value() const { return bits_ & 0x7fffffff; }
  uint32_t label() const { return bits_ & 0x800000ff; }
  uint32_t offset() const { return (bits_ >> 10) << ((bits_ & 0x200) >> 6); }

 private:
  uint32_t bits_;
};

struct PieceMatch {
  size_t n_bytes = 0;  // 0: no rule
  size_t replacement = 0;
};

class Charsmap {
 public:
  Charsmap(std::vector<uint32_t> units, std::string replacements)
      : units_(std::move(units)), replacements_(std::move(replacements)) {}

  void operator()(std::string& segment, bool) const {
    std::string out;
    out.reserve(segment.size());
    for (size_t at = 0; at < segment.size();) {
      const PieceMatch match = longest_at(segment, at);
      if (match.n_bytes > 0) {
        out += replacements_.c_str() + match.replacement;
        at += match.n_bytes;
      } else {
        const size_t n = decode_char(segment, at).n_bytes;
        out.append(segment, at, n);
        at += n;
      }
    }
    segment = std::move(out);
  }

 private:
  PieceMatch longest_at(std::string_view text, size_t begin) const {
    PieceMatch best;
    uint32_t node = TrieUnit(units_[0]).offset();
    const size_t end = std::min(text.size(), begin + kMaxKeyBytes);
    for (size_t at = begin; at < end; ++at) {
      const auto byte = static_cast<uint8_t>(text[at]);
      node ^= byte;
      if (node >= units_.size() || TrieUnit(units_[node]).label() != byte) break;
      const TrieUnit unit(units_[node]);
      node ^= unit.offset();
      if (!unit.has_leaf()) continue;
      if (node >= units_.size()) break;
      const size_t replacement = TrieUnit(units_[node]).value();
      if (replacement < replacements_.size()) best = {at + 1 - begin, replacement};
    }
    return best;
  }

  std::vector<uint32_t> units_;  // not empty
  std::string replacements_;     // ends with NUL
};

Status check_replacements(std::string_view replacements) {
  if (replacements.empty() || replacements.back() != 0) {
    return format_error("precompiled_charsmap: the last replacement has no end", "precompiled_charsmap");
  }
  for (size_t begin = 0; begin < replacements.size();) {
    const size_t end = replacements.find('\0', begin);
    if (end - begin > kMaxReplacementBytes) {
      return format_error("precompiled_charsmap: expected replacements of at most " +
                              std::to_string(kMaxReplacementBytes) + " bytes, got " + std::to_string(end - begin),
                          "precompiled_charsmap");
    }
    begin = end + 1;
  }
  return {};
}

}  // namespace

Result<Normalizer> make_charsmap_normalizer(std::span<const uint8_t> charsmap) {
  if (charsmap.empty()) return Normalizer();
  uint32_t n_bytes = 0;
  if (charsmap.size() >= 4) std::memcpy(&n_bytes, charsmap.data(), 4);
  if (n_bytes < 4 || n_bytes % 4 != 0 || n_bytes > charsmap.size() - 4) {
    return format_error("precompiled_charsmap: expected an array of whole units within " +
                            std::to_string(charsmap.size()) + " bytes, got " + std::to_string(n_bytes) + " bytes",
                        "precompiled_charsmap");
  }
  std::vector<uint32_t> units(n_bytes / 4);
  std::memcpy(units.data(), charsmap.data() + 4, n_bytes);
  const auto* rest = reinterpret_cast<const char*>(charsmap.data() + 4 + n_bytes);
  std::string replacements(rest, charsmap.size() - 4 - n_bytes);
  RZ_CHECK_OK(check_replacements(replacements));
  return Normalizer(Charsmap(std::move(units), std::move(replacements)));
}

}  // namespace realizar::text
