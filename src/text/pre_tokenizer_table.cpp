// Sources: the pre_tokenizer sections of the models' published tokenizer.json files, and for the names themselves the
// GGUF files that carry them.
#include "text/pre_tokenizer_table.h"

namespace realizar::text {
namespace {

#define RZ_CONTRACTIONS "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define RZ_UPPER "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]"
#define RZ_LOWER "[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]"
#define RZ_SPACES "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
#define RZ_PREFIX "[^\\r\\n\\p{L}\\p{N}]?"
#define RZ_PUNCTUATION " ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*"
#define RZ_GPT2_HEAD "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)"
#define RZ_CASED(contraction) \
  RZ_PREFIX RZ_UPPER "*" RZ_LOWER "+" contraction "|" RZ_PREFIX RZ_UPPER "+" RZ_LOWER "*" contraction

using Regex = std::string_view;

constexpr Regex kGpt2[] = {RZ_GPT2_HEAD "|\\s+"};
constexpr Regex kLlama3[] = {RZ_CONTRACTIONS "|" RZ_PREFIX "\\p{L}+|\\p{N}{1,3}|" RZ_PUNCTUATION "|" RZ_SPACES};
constexpr Regex kQwen2[] = {RZ_CONTRACTIONS "|" RZ_PREFIX "\\p{L}+|\\p{N}|" RZ_PUNCTUATION "|" RZ_SPACES};
constexpr Regex kQwen35[] = {RZ_CONTRACTIONS "|" RZ_PREFIX
                                             "[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|" RZ_SPACES};
constexpr Regex kDeepseekLlm[] = {"[\\r\\n]",
                                  "\\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-"
                                  "ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-"
                                  "ὗὙὛὝὟ-ώᾀ-ᾴᾶ-"
                                  "ᾼιῂ-ῄῆ-ῌῐ-ΐῖ-Ίῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤ\\x{2126}ℨ\\x{212A}-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⲳⳲⳳꙀ-ꙭꚀ-"
                                  "ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-"
                                  "Ｚａ-ｚ𐐀-𐑏𐒰-"
                                  "𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃]+",
                                  "\\s?[!-/:-~！-／：-～‘-‟\\x{3000}-。]+",
                                  "\\s+$",
                                  "[一-龥ࠀ-一가-퟿]+",
                                  "\\p{N}+"};
constexpr Regex kDeepseekCoder[] = {"[\\r\\n]", "\\s?\\p{L}+", "\\s?\\p{P}+", "[一-龥ࠀ-一가-퟿]+", "\\p{N}"};
constexpr Regex kDeepseek3[] = {
    "\\p{N}{1,3}", "[一-龥\\x{3040}-ゟ゠-ヿ]+",
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| "
    "?[\\p{P}\\p{S}]+[\\r\\n]*|" RZ_SPACES};
constexpr Regex kFalcon[] = {"[\\p{P}\\$\\+<=>\\^~\\|`]+", RZ_GPT2_HEAD, "[0-9][0-9][0-9]"};
constexpr Regex kDigitsGpt2[] = {"\\p{N}", RZ_GPT2_HEAD};
constexpr Regex kBloom[] = {" ?[^(\\s|.,!?…。，、।۔،)]+"};
constexpr Regex kViking[] = {" ?[^(\\s|.,!?…。，、।۔،)]+", "\\p{N}"};
constexpr Regex kTekken[] = {RZ_CASED("") "|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" RZ_SPACES};
constexpr Regex kGpt4o[] = {RZ_CASED(RZ_CONTRACTIONS "?") "|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" RZ_SPACES};
constexpr Regex kKimiK2[] = {
    "\\p{Han}+|" RZ_PREFIX
    "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}&&[^\\p{Han}]]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}&&[^\\p{Han}]]"
    "+" RZ_CONTRACTIONS "?|" RZ_PREFIX
    "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}&&[^\\p{Han}]]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}&&[^\\p{Han}]]*" RZ_CONTRACTIONS
    "?|\\p{N}{1,3}|" RZ_PUNCTUATION "|" RZ_SPACES};
constexpr Regex kSuperbpe[] = {"\\p{N}+", "(?=(\\d{3})+(?!\\d))"};
constexpr Regex kBailing[] = {"'(?i:[sdmt]|ll|ve|re)|" RZ_PREFIX "\\p{L}+|\\p{N}|" RZ_PUNCTUATION
                              "|\\s*[\\r\\n]|\\s+(?!\\S)|\\s+"};
constexpr Regex kSeedCoder[] = {RZ_CONTRACTIONS "|" RZ_PREFIX "\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}\\r\\n]+|" RZ_SPACES};
constexpr Regex kGemma4[] = {"[^\\n]+|[\\n]+"};
constexpr Regex kDefault[] = {"[\\p{P}\\$\\+<=>\\^~\\|]+", RZ_GPT2_HEAD, "\\p{N}+", "[0-9][0-9][0-9]"};

constexpr NamedPreTokenizer kTable[] = {
    {"", kDefault},
    {"default", kDefault},
    {"gpt-2", kGpt2},
    {"gpt2", kGpt2},
    {"phi-2", kGpt2},
    {"mpt", kGpt2},
    {"olmo", kGpt2},
    {"jais", kGpt2},
    {"trillion", kGpt2},
    {"granite-docling", kGpt2},
    {"exaone4", kGpt2},
    {"gigachat", kGpt2},
    {"a.x-4.0", kGpt2},
    {"mellum", kGpt2},
    {"jina-es", kGpt2},
    {"jina-de", kGpt2},
    {"jina-v2-es", kGpt2},
    {"jina-v2-de", kGpt2},
    {"jina-v1-en", kGpt2},
    {"jina-v2-code", kGpt2},
    {"roberta-bpe", kGpt2},
    {"llama3", kLlama3, true, true},
    {"llama-v3", kLlama3, true, true},
    {"llama-bpe", kLlama3, true, true},
    {"falcon3", kLlama3, true, true},
    {"falcon-h1", kLlama3, true, true},
    {"pixtral", kLlama3, true, true},
    {"midm-2.0", kLlama3, true, true},
    {"lfm2", kLlama3, true, true},
    {"dbrx", kLlama3},
    {"smaug-bpe", kLlama3},
    {"glm4", kLlama3},
    {"chatglm-bpe", kLlama3},
    {"qwen2", kQwen2},
    {"deepseek-r1-qwen", kQwen2},
    {"kormo", kQwen2},
    {"megrez", kQwen2},
    {"stablelm2", kQwen2},
    {"hunyuan", kQwen2},
    {"grok-2", kQwen2},
    {"solar-open", kQwen2},
    {"qwen35", kQwen35},
    {"deepseek-llm", kDeepseekLlm},
    {"deepseek-coder", kDeepseekCoder},
    {"deepseek-v3", kDeepseek3},
    {"hunyuan-dense", kDeepseek3},
    {"joyai-llm", kDeepseek3},
    {"falcon", kFalcon},
    {"starcoder", kDigitsGpt2},
    {"refact", kDigitsGpt2},
    {"command-r", kDigitsGpt2},
    {"smollm", kDigitsGpt2},
    {"codeshell", kDigitsGpt2},
    {"exaone", kDigitsGpt2},
    {"minerva-7b", kDigitsGpt2},
    {"bloom", kBloom},
    {"poro-chat", kBloom},
    {"gpt3-finnish", kBloom},
    {"viking", kViking},
    {"tekken", kTekken, true, true},
    {"gpt-4o", kGpt4o},
    {"llama4", kGpt4o},
    {"o200k", kGpt4o},
    {"minimax-m2", kGpt4o},
    {"kimi-k2", kKimiK2},
    {"superbpe", kSuperbpe},
    {"bailingmoe", kBailing},
    {"bailingmoe2", kBailing},
    {"llada-moe", kBailing},
    {"seed-coder", kSeedCoder},
    {"gemma4", kGemma4, false, true, false},
};

}  // namespace

const NamedPreTokenizer* find_pre_tokenizer(std::string_view name) {
  for (const NamedPreTokenizer& entry : kTable) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

}  // namespace realizar::text
