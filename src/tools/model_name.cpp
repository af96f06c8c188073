#include "tools/model_name.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <vector>

#include "base/ascii_case.h"

namespace realizar {
namespace {

enum class PartKind { kNone, kVersion, kType, kSize, kFinetune };

struct NamePart {
  std::string text;
  PartKind kind = PartKind::kNone;
  bool is_base = false;
};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || is_upper(c);
}
char in_upper(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - ('a' - 'A')) : c;
}

std::vector<std::string> words_of(std::string_view text, std::string_view breaks) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    if (breaks.find(c) == std::string_view::npos) {
      words.back() += c;
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

// Matches "3", "3.1", "12.0.4" from `at` on; returns the position after it, or `at`.
size_t after_number(std::string_view text, size_t at, std::string_view points, bool has_many) {
  const auto digits = [&](size_t from) {
    while (from < text.size() && is_digit(text[from])) ++from;
    return from;
  };
  size_t end = digits(at);
  if (end == at) return at;
  while (end + 1 < text.size() && points.find(text[end]) != std::string_view::npos && is_digit(text[end + 1])) {
    end = digits(end + 1);
    if (!has_many) break;
  }
  return end;
}

// "v0.3", "iter2", "3.1".
bool is_version(std::string_view text) {
  size_t at = 0;
  for (const std::string_view mark : {"v", "iter"}) {
    if (text.starts_with(mark)) at = mark.size();
  }
  return at < text.size() && after_number(text, at, ".", true) == text.size();
}

// "q4_k_m", "iq2_xs", "fp16", "bf16", "f32".
bool is_type(std::string_view text) {
  std::string_view rest = text;
  for (const std::string_view mark : {"bfp", "bf", "fp", "f"}) {
    if (!rest.starts_with(mark)) continue;
    rest.remove_prefix(mark.size());
    return rest == "16" || rest == "32";
  }
  if (rest.starts_with('i')) rest.remove_prefix(1);
  if (rest.size() < 2 || rest[0] != 'q' || !is_digit(rest[1])) return false;
  for (rest.remove_prefix(2); !rest.empty(); rest.remove_prefix(2)) {
    if (rest.size() < 2 || rest[0] != '_' || !(is_letter(rest[1]) || is_digit(rest[1]) || rest[1] == '_')) return false;
  }
  return true;
}

bool is_size_word(std::string_view text) {
  constexpr std::string_view kWords[] = {"small", "mini", "medium", "large", "xl", "xxl"};
  return std::ranges::find(kWords, text) != std::end(kWords);
}

// "7b", "1.5b", "8x7b", "a3b", "7b1": a number, its unit, and perhaps a digit after it.
bool is_size_number(std::string_view text) {
  size_t at = 0;
  if (text.starts_with('a')) {
    at = 1;
  } else {
    while (at < text.size() && is_digit(text[at])) ++at;
    at = at > 0 && at < text.size() && text[at] == 'x' ? at + 1 : 0;
  }
  const size_t end = after_number(text, at, "._", false);
  if (end == at || end >= text.size() || std::string_view("kmbt").find(text[end]) == std::string_view::npos)
    return false;
  return end + 1 == text.size() || (end + 2 == text.size() && is_digit(text[end + 1]));
}

// Normalized: "1.5B", and "7.1B" for "7b1".
std::string size_text(std::string text) {
  std::ranges::replace(text, '_', '.');
  if (is_digit(text.back())) {
    const char digit = text.back(), unit = text[text.size() - 2];
    text.resize(text.size() - 2);
    text += {'.', digit, unit};
  }
  const bool has_unit = text.size() > 1 && is_digit(text[text.size() - 2]);
  if (has_unit) text.back() = in_upper(text.back());
  return text;
}

// The number of weights in "1.5B"; nullopt for "8x7B" and words.
std::optional<double> weights_of(const std::string& size) {
  const size_t unit = std::string_view(" KMBT").find(size.back());
  char* end = nullptr;
  const double number = std::strtod(size.c_str(), &end);
  if (unit == std::string_view::npos || end != size.c_str() + size.size() - 1) return std::nullopt;
  return number * std::pow(1000.0, static_cast<double>(unit));
}

void classify(NamePart& part, bool is_first, uint64_t n_weights) {
  const std::string text = lower_case(part.text);
  if (is_version(text)) {
    part.kind = PartKind::kVersion;
  } else if (is_type(text)) {
    part.kind = PartKind::kType;
    std::ranges::transform(part.text, part.text.begin(), in_upper);
  } else if (!is_first && (is_size_word(text) || is_size_number(text))) {
    part.text = size_text(part.text);
    part.kind = PartKind::kSize;
    const auto stated = weights_of(part.text);
    const auto n = static_cast<double>(n_weights);
    // A number far from the model's size is the length of a context.
    if (n_weights > 0 && stated && std::abs(*stated - n) > std::floor(7 * n / 8)) {
      part.kind = PartKind::kFinetune;
      part.text.back() = lower_case(part.text.back());
    }
  } else if (!is_first && (text == "chat" || text == "instruct" || text == "vision" || text == "lora")) {
    part.kind = PartKind::kFinetune;
  }
}

// Takes the words before the first size or similar part, including versions; a version at their end is separate.
void find_base(std::vector<NamePart>& parts) {
  bool is_at_start = true;
  for (NamePart& part : parts) {
    const bool is_word = part.kind == PartKind::kNone && is_letter(part.text.front());
    if (is_at_start && (is_word || part.kind == PartKind::kVersion)) {
      part.is_base = true;
      continue;
    }
    is_at_start = false;
    if (part.kind == PartKind::kNone) part.kind = PartKind::kFinetune;
  }
  for (auto part = parts.rbegin(); part != parts.rend() && part->is_base && part->kind != PartKind::kNone; ++part) {
    part->is_base = false;
  }
}

std::string joined(const std::vector<NamePart>& parts, PartKind kind, bool is_base, bool is_once) {
  std::vector<std::string> texts;
  for (const NamePart& part : parts) {
    if (part.is_base != is_base || (!is_base && part.kind != kind)) continue;
    if (!is_once || std::ranges::find(texts, part.text) == texts.end()) texts.push_back(part.text);
  }
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : "-") + text;
  return all;
}

// All-lower-case words get a capital, except versions and words that begin with a digit.
std::string title_of(std::string_view text) {
  std::string title;
  for (std::string word : words_of(text, "- \t")) {
    const bool is_lower = std::ranges::any_of(word, is_letter) && std::ranges::none_of(word, is_upper);
    const bool is_number = is_digit(word.front()) || (word.front() == 'v' && is_version(word));
    for (size_t i = 0; is_lower && !is_number && i < word.size(); ++i) {
      if (i == 0 || !is_letter(word[i - 1])) word[i] = in_upper(word[i]);
    }
    title += (title.empty() ? "" : " ") + word;
  }
  return title;
}

}  // namespace

ModelName read_model_name(std::string_view id, uint64_t n_weights) {
  ModelName name;
  if (id.find(' ') != std::string_view::npos) {
    name.title = title_of(id);
    return name;
  }
  const size_t slash = id.find('/');
  const std::string_view organization = slash == std::string_view::npos ? "" : id.substr(0, slash);
  const std::string_view own = slash == std::string_view::npos ? id : id.substr(slash + 1);
  name.title = title_of(own);
  if (!organization.empty() && organization.front() != '.') {
    name.organization = title_of(organization);
    name.repository = std::string(id);
  }
  std::vector<NamePart> parts;
  for (std::string& word : words_of(own, "-")) parts.push_back({std::move(word)});
  for (size_t i = 0; i < parts.size(); ++i) classify(parts[i], i == 0, n_weights);
  const bool has_number = std::ranges::any_of(parts, [](const NamePart& part) {
    return part.kind == PartKind::kSize && std::ranges::any_of(part.text, is_digit);
  });
  for (NamePart& part : parts) {
    if (has_number && part.kind == PartKind::kSize && std::ranges::all_of(part.text, is_letter)) {
      part.kind = PartKind::kNone;
    }
  }
  find_base(parts);
  name.size_label = joined(parts, PartKind::kSize, false, true);
  name.finetune = joined(parts, PartKind::kFinetune, false, false);
  name.version = joined(parts, PartKind::kVersion, false, false);
  const bool is_clear = !name.size_label.empty() || !name.finetune.empty() || !name.version.empty();
  if (is_clear) name.basename = joined(parts, PartKind::kNone, true, false);
  return name;
}

}  // namespace realizar
