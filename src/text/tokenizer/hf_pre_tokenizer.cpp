#include <utility>

#include "base/printable.h"
#include "base/try.h"
#include "text/tokenizer/hf_json.h"
#include "text/tokenizer/hf_parts.h"
#include "text/tokenizer/pre_tokenizers.h"
#include "text/unicode.h"
#include "text/utf8.h"

namespace realizar::text {
namespace {

constexpr std::string_view kGpt2Regex =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

bool is_number(uint32_t code) {
  return char_class(code) == CharClass::kNumber;
}

Result<SplitBehavior> read_behavior(const element& section, std::string_view otherwise) {
  const std::string name = json_string(section, "behavior", otherwise);
  if (name == "Removed") return SplitBehavior::kRemoved;
  if (name == "Isolated") return SplitBehavior::kIsolated;
  if (name == "MergedWithPrevious") return SplitBehavior::kMergedWithPrevious;
  if (name == "MergedWithNext") return SplitBehavior::kMergedWithNext;
  if (name == "Contiguous") return SplitBehavior::kContiguous;
  return unsupported("pre_tokenizer.behavior: '" + shown(name) + "' is not built", "pre_tokenizer");
}

Result<PrependScheme> read_prepend_scheme(const element& section) {
  // Older files use add_prefix_space instead.
  const bool adds = json_bool(section, "add_prefix_space", true);
  const std::string name = json_string(section, "prepend_scheme", adds ? "always" : "never");
  if (name == "always") return PrependScheme::kAlways;
  if (name == "first") return PrependScheme::kFirst;
  if (name == "never") return PrependScheme::kNever;
  return unsupported("pre_tokenizer.prepend_scheme: '" + shown(name) + "' is not built", "pre_tokenizer");
}

// Flattens sequences into steps.
class PreTokenizerReader {
 public:
  explicit PreTokenizerReader(bool raw_bytes) : raw_bytes_(raw_bytes) {}

  Status read(const element& section, bool is_last, int depth) {
    const std::string type = json_string(section, "type");
    if (type == "Sequence") return read_sequence(section, is_last, depth);
    if (type == "ByteLevel") return read_byte_level(section, is_last);
    RZ_TRY(PreTokenizer step, read_simple(section, type));
    steps_.push_back(std::move(step));
    return {};
  }

  HfPreTokenizer finish() {
    HfPreTokenizer result;
    result.byte_level = byte_level_;
    if (steps_.size() == 1) result.part = std::move(steps_[0]);
    if (steps_.size() > 1) result.part = make_sequence(std::move(steps_));
    return result;
  }

 private:
  Status read_sequence(const element& section, bool is_last, int depth) {
    if (depth > kMaxSectionDepth) return format_error("pre_tokenizer: nested too deep", "pre_tokenizer");
    RZ_TRY(const simdjson::dom::array steps, json_array(section, "pretokenizers", "pre_tokenizer"));
    size_t i = 0;
    for (const element step : steps) RZ_CHECK_OK(read(step, is_last && ++i == steps.size(), depth + 1));
    return {};
  }

  Status read_byte_level(const element& section, bool is_last) {
    if (json_bool(section, "add_prefix_space", true)) steps_.push_back(make_prefix_space());
    if (json_bool(section, "use_regex", true)) {
      RZ_TRY(PreTokenizer step, make_regex_split(kGpt2Regex, SplitBehavior::kIsolated, false));
      steps_.push_back(std::move(step));
    }
    byte_level_ = is_last && raw_bytes_;
    if (byte_level_) return {};
    // Spelling bytes again would double the text each time.
    if (is_spelled_) return unsupported("pre_tokenizer: ByteLevel more than once is not built", "pre_tokenizer");
    is_spelled_ = true;
    steps_.push_back(make_byte_speller());
    return {};
  }

  static Result<PreTokenizer> read_simple(const element& section, const std::string& type) {
    if (type == "Split") return read_split(section);
    if (type == "Whitespace") return make_regex_split("\\w+|[^\\w\\s]+", SplitBehavior::kRemoved, true);
    if (type == "WhitespaceSplit") return make_char_split(is_white_space, SplitBehavior::kRemoved);
    if (type == "BertPreTokenizer") return make_bert_split();
    if (type == "Metaspace") return read_metaspace(section);
    if (type == "Digits") {
      const bool individual = json_bool(section, "individual_digits", false);
      return make_char_split(is_number, individual ? SplitBehavior::kIsolated : SplitBehavior::kContiguous);
    }
    if (type == "Punctuation") {
      RZ_TRY(const SplitBehavior behavior, read_behavior(section, "Isolated"));
      return make_punctuation_split(behavior);
    }
    if (type == "CharDelimiterSplit") {
      return make_split(make_string_pattern(json_string(section, "delimiter")), SplitBehavior::kRemoved, false);
    }
    if (type == "FixedLength") return read_fixed_length(section);
    return unsupported("pre_tokenizer: type '" + shown(type) + "' is not built", "pre_tokenizer");
  }

  static Result<PreTokenizer> read_fixed_length(const element& section) {
    constexpr int64_t kLongest = 65535;  // of a counted repetition
    const int64_t length = json_int(section, "length", 5);
    if (length < 1 || length > kLongest) {
      return format_error("pre_tokenizer.length: expected 1 to " + std::to_string(kLongest), "pre_tokenizer");
    }
    return make_regex_split("(?s:.{1," + std::to_string(length) + "})", SplitBehavior::kIsolated, false);
  }

  static Result<PreTokenizer> read_split(const element& section) {
    RZ_TRY(JsonPattern pattern, json_pattern(section, "pre_tokenizer"));
    RZ_TRY(const SplitBehavior behavior, read_behavior(section, "Removed"));
    const bool invert = json_bool(section, "invert", false);
    if (pattern.is_regex) return make_regex_split(pattern.text, behavior, invert);
    return make_split(make_string_pattern(std::move(pattern.text)), behavior, invert);
  }

  static Result<PreTokenizer> read_metaspace(const element& section) {
    RZ_TRY(const PrependScheme scheme, read_prepend_scheme(section));
    const std::string replacement = json_string(section, "replacement", "\u2581");
    if (replacement.empty() || decode_char(replacement, 0).n_bytes != replacement.size()) {
      return format_error("pre_tokenizer.replacement: expected one character, got '" + shown(replacement) + "'",
                          "pre_tokenizer");
    }
    return make_metaspace(replacement, scheme, json_bool(section, "split", true));
  }

  bool raw_bytes_;
  bool byte_level_ = false;
  bool is_spelled_ = false;
  std::vector<PreTokenizer> steps_;
};

}  // namespace

Result<HfPreTokenizer> read_pre_tokenizer(const JsonElement& section, bool raw_bytes) {
  PreTokenizerReader reader(raw_bytes);
  if (!section.is_null()) RZ_CHECK_OK(reader.read(section, true, 0));
  return reader.finish();
}

}  // namespace realizar::text
