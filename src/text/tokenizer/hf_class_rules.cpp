#include "text/tokenizer/hf_class_rules.h"

#include <optional>
#include <string>
#include <string_view>

#include "text/tokenizer/hf_json.h"

namespace realizar::text {
namespace {

struct ClassRule {
  std::string_view name;  // without "Fast"
  bool adds_bos = false;  // if add_bos_token is not given
};

constexpr ClassRule kClassRules[] = {
    {"LlamaTokenizer", true},  {"CodeLlamaTokenizer", true}, {"GemmaTokenizer", true},
    {"CohereTokenizer", true}, {"GPTNeoXTokenizer", false},
};

const ClassRule* find_rule(std::string_view tokenizer_class) {
  constexpr std::string_view kFast = "Fast";
  if (tokenizer_class.ends_with(kFast)) tokenizer_class.remove_suffix(kFast.size());
  for (const ClassRule& rule : kClassRules) {
    if (rule.name == tokenizer_class) return &rule;
  }
  return nullptr;
}

std::optional<bool> given_flag(const element& config, std::string_view key) {
  bool value = false;
  return config[key].get(value) == simdjson::SUCCESS ? std::optional(value) : std::nullopt;
}

}  // namespace

void apply_class_rules(const element& config, bool has_post_processor, TokenizerParts& parts) {
  if (!config.is_object()) return;
  const ClassRule* rule = find_rule(json_string(config, "tokenizer_class"));
  const auto add_bos = given_flag(config, "add_bos_token"), add_eos = given_flag(config, "add_eos_token");
  if (has_post_processor && (rule == nullptr || (!add_bos && !add_eos))) return;
  parts.post = {};
  if (add_bos.value_or(rule != nullptr && rule->adds_bos) && parts.bos) parts.post.prefix.push_back(*parts.bos);
  if (add_eos.value_or(false) && parts.eos) parts.post.suffix.push_back(*parts.eos);
  // The second of two texts begins like the first.
  if (rule == nullptr || parts.post.prefix.empty()) return;
  parts.post.between = parts.post.suffix;
  parts.post.between->insert(parts.post.between->end(), parts.post.prefix.begin(), parts.post.prefix.end());
}

}  // namespace realizar::text
