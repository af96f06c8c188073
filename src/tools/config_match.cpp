#include "tools/conversion.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <sstream>
#include <string_view>

namespace realizar {
namespace {

constexpr double kRounding = 1e-5;  // rounding of F32, and of a factor's inverse

bool are_close(double a, double b) {
  return a == b || std::abs(a - b) <= kRounding * std::max(std::abs(a), std::abs(b));
}

// A file's row order, and factors folded into its weights, do not affect what the model computes.
ModelConfig as_computed(ModelConfig c) {
  c.name.clear();
  c.arch.clear();
  c.has_unit_head = false;
  c.lacks_head = false;  // not recorded in GGUF
  c.d_ff = 0;
  c.layer_table.n_vocab = 0;
  for (LayerConfig& layer : c.layers) {
    if (auto* own = std::get_if<AttentionConfig>(&layer.mixer)) {
      own->n_interleaved = 0;
      own->qkv_rows = QkvRows::kStacked;
    }
    if (auto* own = std::get_if<LatentAttentionConfig>(&layer.mixer)) own->is_interleaved = false;
    if (auto* own = std::get_if<DeltaNetConfig>(&layer.mixer)) own->key_heads_in_turn = false;
    if (auto* own = std::get_if<ExpertsConfig>(&layer.ffn)) own->gate_up_rows = GateUpRows::kStacked;
  }
  return c;
}

std::optional<double> as_number(std::string_view word) {
  while (!word.empty() && (word.back() == ',' || word.back() == ';' || word.back() == ')')) word.remove_suffix(1);
  double number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return number;
}

bool is_same_line(const std::string& a, const std::string& b) {
  std::istringstream words_a(a), words_b(b);
  std::string word_a, word_b;
  while (true) {
    const bool has_a = static_cast<bool>(words_a >> word_a), has_b = static_cast<bool>(words_b >> word_b);
    if (!has_a || !has_b) return has_a == has_b;
    if (word_a == word_b) continue;
    const auto number_a = as_number(word_a), number_b = as_number(word_b);
    if (!number_a || !number_b || !are_close(*number_a, *number_b)) return false;
  }
}

std::optional<std::string> different_rope(const ModelConfig& a, const ModelConfig& b) {
  for (size_t i = 0; i < std::min(a.ropes.size(), b.ropes.size()); ++i) {
    const auto& own = a.ropes[i].inv_freq;
    const auto& other = b.ropes[i].inv_freq;
    for (size_t k = 0; k < std::min(own.size(), other.size()); ++k) {
      // A pair that GGUF divides by 1e30 does not rotate.
      if (are_close(own[k], other[k]) || std::max(own[k], other[k]) < 1e-25f) continue;
      return fmt::format("rotation {}: pair {} turns by {}, and by {}", i, k, own[k], other[k]);
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> difference(const ModelConfig& source, const ModelConfig& made) {
  std::istringstream lines(to_string(as_computed(source))), made_lines(to_string(as_computed(made)));
  std::string line, made_line;
  while (true) {
    const bool has = static_cast<bool>(std::getline(lines, line));
    const bool made_has = static_cast<bool>(std::getline(made_lines, made_line));
    if (!has && !made_has) break;
    if (!has) line = "nothing";
    if (!made_has) made_line = "nothing";
    if (!is_same_line(line, made_line)) return fmt::format("'{}', and '{}'", line, made_line);
  }
  return different_rope(source, made);
}

}  // namespace realizar
