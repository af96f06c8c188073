#include <algorithm>
#include <utility>

#include "base/encodings.h"
#include "base/printable.h"
#include "base/try.h"
#include "text/tokenizer/builders.h"
#include "text/tokenizer/hf_json.h"
#include "text/tokenizer/hf_parts.h"
#include "text/tokenizer/normalizers.h"

namespace realizar::text {
namespace {

Result<Normalizer> read_charsmap(const element& section) {
  const auto bytes = decode_base64(json_string(section, "precompiled_charsmap"));
  if (!bytes) return format_error("normalizer.precompiled_charsmap: not base64", "normalizer");
  if (bytes->empty()) return Normalizer();
  return make_charsmap_normalizer({reinterpret_cast<const uint8_t*>(bytes->data()), bytes->size()});
}

// The limit on the combined growth of a text through all steps: each step is harmless, but twenty that double the text
// are not.
constexpr size_t kMaxGrowth = 4096;

Status multiply_growth(size_t factor, size_t& growth) {
  growth *= std::clamp<size_t>(factor, 1, kMaxGrowth + 1);
  if (growth <= kMaxGrowth) return {};
  return unsupported("normalizer: its steps may make a text more than " + std::to_string(kMaxGrowth) + " times longer",
                     "normalizer");
}

Result<Normalizer> read_replace(const element& section, size_t& growth) {
  RZ_TRY(JsonPattern pattern, json_pattern(section, "normalizer"));
  const std::string content = json_string(section, "content");
  if (!pattern.is_regex) {
    const size_t n_wanted = std::max<size_t>(pattern.text.size(), 1);
    RZ_CHECK_OK(multiply_growth((content.size() + n_wanted - 1) / n_wanted, growth));
    return make_replace(std::move(pattern.text), content);
  }
  RZ_TRY(Regex regex, Regex::compile(pattern.text));
  RZ_CHECK_OK(multiply_growth(content.size() + (regex.may_match_empty() ? 2 : 0), growth));
  return make_replace(std::move(regex), content);
}

Result<Normalizer> read_byte_level(size_t& growth) {
  RZ_CHECK_OK(multiply_growth(2, growth));
  return make_byte_spelling();
}

Normalizer read_bert(const element& section) {
  BertNormalizerOptions options;
  options.clean_text = json_bool(section, "clean_text", true);
  options.handle_chinese_chars = json_bool(section, "handle_chinese_chars", true);
  options.lowercase = json_bool(section, "lowercase", true);
  // By default, accents are stripped when lowercasing.
  options.strip_accents = json_bool(section, "strip_accents", options.lowercase);
  return make_bert_normalizer(options);
}

Result<Normalizer> read_one(const element& section, int depth, size_t& growth);

Result<Normalizer> read_sequence(const element& section, int depth, size_t& growth) {
  if (depth > kMaxSectionDepth) return format_error("normalizer: nested too deep", "normalizer");
  RZ_TRY(const simdjson::dom::array steps, json_array(section, "normalizers", "normalizer"));
  std::vector<Normalizer> parts;
  for (const element step : steps) {
    RZ_TRY(Normalizer part, read_one(step, depth + 1, growth));
    if (part) parts.push_back(std::move(part));
  }
  return make_sequence(std::move(parts));
}

Result<Normalizer> read_one(const element& section, int depth, size_t& growth) {
  const std::string type = json_string(section, "type");
  if (type == "Sequence") return read_sequence(section, depth, growth);
  if (type == "NFC") return make_normal_form(NormalForm::kNfc);
  if (type == "NFD") return make_normal_form(NormalForm::kNfd);
  if (type == "NFKC") return make_normal_form(NormalForm::kNfkc);
  if (type == "NFKD") return make_normal_form(NormalForm::kNfkd);
  if (type == "Lowercase") return make_lowercase();
  if (type == "StripAccents") return make_strip_accents();
  if (type == "Prepend") return make_prepend(json_string(section, "prepend"));
  if (type == "Replace") return read_replace(section, growth);
  if (type == "Strip")
    return make_strip(json_bool(section, "strip_left", true), json_bool(section, "strip_right", true));
  if (type == "BertNormalizer") return read_bert(section);
  if (type == "Precompiled") return read_charsmap(section);
  if (type == "ByteLevel") return read_byte_level(growth);
  if (type == "Nmt") return make_nmt();
  return unsupported("normalizer: type '" + shown(type) + "' is not built", "normalizer");
}

}  // namespace

Result<Normalizer> read_normalizer(const JsonElement& section) {
  if (section.is_null()) return Normalizer();
  size_t growth = 1;
  return read_one(section, 0, growth);
}

}  // namespace realizar::text
