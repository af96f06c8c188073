// Sources: the pre_tokenizer sections of the models' published tokenizer.json files, and for the names themselves the
// GGUF files that carry them.
#include "text/tokenizer/pre_tokenizer_table.h"

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
// The cased letters, as listed by DeepSeek.
#define RZ_DEEPSEEK_LETTERS                                                                                      \
  "A-Za-z\\x{B5}\\x{C0}-\\x{D6}\\x{D8}-\\x{F6}\\x{F8}-\\x{1BA}\\x{1BC}-\\x{1BF}\\x{1C4}-\\x{293}"                \
  "\\x{295}-\\x{2AF}\\x{370}-\\x{373}\\x{376}\\x{377}\\x{37B}-\\x{37D}\\x{37F}\\x{386}\\x{388}-\\x{38A}\\x{38C}" \
  "\\x{38E}-\\x{3A1}\\x{3A3}-\\x{3F5}\\x{3F7}-\\x{481}\\x{48A}-\\x{52F}\\x{531}-\\x{556}\\x{10A0}-\\x{10C5}"     \
  "\\x{13A0}-\\x{13F5}\\x{13F8}-\\x{13FD}\\x{1C90}-\\x{1CBA}\\x{1CBD}-\\x{1CBF}\\x{1D00}-\\x{1D2B}"              \
  "\\x{1D6B}-\\x{1D77}\\x{1D79}-\\x{1D9A}\\x{1E00}-\\x{1F15}\\x{1F18}-\\x{1F1D}\\x{1F20}-\\x{1F45}"              \
  "\\x{1F48}-\\x{1F4D}\\x{1F50}-\\x{1F57}\\x{1F59}\\x{1F5B}\\x{1F5D}\\x{1F5F}-\\x{1F7D}\\x{1F80}-\\x{1FB4}"      \
  "\\x{1FB6}-\\x{1FBC}\\x{1FBE}\\x{1FC2}-\\x{1FC4}\\x{1FC6}-\\x{1FCC}\\x{1FD0}-\\x{1FD3}\\x{1FD6}-\\x{1FDB}"     \
  "\\x{1FE0}-\\x{1FEC}\\x{1FF2}-\\x{1FF4}\\x{1FF6}-\\x{1FFC}\\x{2102}\\x{2107}\\x{210A}-\\x{2113}\\x{2115}"      \
  "\\x{2119}-\\x{211D}\\x{2124}\\x{2126}\\x{2128}\\x{212A}-\\x{212D}\\x{212F}-\\x{2134}\\x{2139}"                \
  "\\x{213C}-\\x{213F}\\x{2145}-\\x{2149}\\x{214E}\\x{2183}\\x{2184}\\x{2C00}-\\x{2C7B}\\x{2C7E}-\\x{2CE4}"      \
  "\\x{2CEB}-\\x{2CEE}\\x{2CF2}\\x{2CF3}\\x{A640}-\\x{A66D}\\x{A680}-\\x{A69B}\\x{A722}-\\x{A76F}"               \
  "\\x{A771}-\\x{A787}\\x{A78B}-\\x{A78E}\\x{AB70}-\\x{ABBF}\\x{FB00}-\\x{FB06}\\x{FB13}-\\x{FB17}"              \
  "\\x{FF21}-\\x{FF3A}\\x{FF41}-\\x{FF5A}\\x{10400}-\\x{1044F}\\x{104B0}-\\x{104D3}\\x{104D8}-\\x{104FB}"        \
  "\\x{10C80}-\\x{10CB2}\\x{10CC0}-\\x{10CF2}\\x{118A0}-\\x{118DF}\\x{1E900}-\\x{1E943}"

constexpr Regex kDeepseekLlm[] = {
    "[\\r\\n]",
    "\\s?[" RZ_DEEPSEEK_LETTERS "]+",
    "\\s?[!-/:-~\\x{FF01}-\\x{FF0F}\\x{FF1A}-\\x{FF5E}\\x{2018}-\\x{201F}\\x{3000}-\\x{3002}]+",
    "\\s+$",
    "[\\x{4E00}-\\x{9FA5}\\x{800}-\\x{4E00}\\x{AC00}-\\x{D7FF}]+",
    "\\p{N}+"};
constexpr Regex kDeepseekCoder[] = {"[\\r\\n]", "\\s?\\p{L}+", "\\s?\\p{P}+",
                                    "[\\x{4E00}-\\x{9FA5}\\x{800}-\\x{4E00}\\x{AC00}-\\x{D7FF}]+", "\\p{N}"};
constexpr Regex kDeepseek3[] = {
    "\\p{N}{1,3}", "[\\x{4E00}-\\x{9FA5}\\x{3040}-\\x{309F}\\x{30A0}-\\x{30FF}]+",
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\\r\\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+| "
    "?[\\p{P}\\p{S}]+[\\r\\n]*|" RZ_SPACES};
constexpr Regex kFalcon[] = {"[\\p{P}\\$\\+<=>\\^~\\|`]+", RZ_GPT2_HEAD, "[0-9][0-9][0-9]"};
constexpr Regex kDigitsGpt2[] = {"\\p{N}", RZ_GPT2_HEAD};
constexpr Regex kBloom[] = {" ?[^(\\s|.,!?\\x{2026}\\x{3002}\\x{FF0C}\\x{3001}\\x{964}\\x{6D4}\\x{60C})]+"};
constexpr Regex kViking[] = {" ?[^(\\s|.,!?\\x{2026}\\x{3002}\\x{FF0C}\\x{3001}\\x{964}\\x{6D4}\\x{60C})]+", "\\p{N}"};
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
constexpr Regex kJais2[] = {RZ_CONTRACTIONS
                            "|" RZ_PREFIX "\\p{L}+|\\p{N}{1,3}|" RZ_PUNCTUATION
                            "|\\s*[\\r\\n]+|\\s{512}(?!\\S)|\\s{256}(?!\\S)|\\s{128}(?!\\S)|\\s{64}(?!\\S)|"
                            "\\s{32}(?!\\S)|\\s{16}(?!\\S)|\\s{8}(?!\\S)|\\s{4}(?!\\S)|\\s{1,2}(?!\\S)|\\s{1}"};
constexpr Regex kTinyAya[] = {"\\d{1,3}(?=(?:\\d{3})*\\b)",
                              RZ_CASED(RZ_CONTRACTIONS "?") "|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" RZ_SPACES};
constexpr Regex kExaoneMoe[] = {RZ_CONTRACTIONS
                                "|" RZ_PREFIX
                                "(?:\\p{L}\\p{M}*(?: \\p{L}\\p{M}*)*)+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]?|"
                                "\\s*[\\r\\n]|\\s+(?!\\S)|\\s+"};
constexpr Regex kYoutu[] = {
    "[\\x{AC00}-\\x{D7A3}\\x{3131}-\\x{318E}]+|[\\x{FF01}\\x{2026}\\x{201C}\\x{201D}\\x{2018}\\x{2019}\\x{2014}"
    "\\x{FF1A}\\x{FF1B}\\x{FF0C}\\x{3001}-\\x{303F}\\x{FE30}-\\x{FE4F}]+|[\\x{3105}-\\x{312F}]+|"
    "[\\x{4E00}-\\x{9FA5}\\x{3040}-\\x{309F}\\x{30A0}-\\x{30FF}]+",
    RZ_CASED(RZ_CONTRACTIONS "?") "|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|" RZ_SPACES};
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
    {"modern-bert", kGpt2},
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
    {"jina-v5-nano", kLlama3, true, true},
    {"dbrx", kLlama3},
    {"smaug-bpe", kLlama3},
    {"glm4", kLlama3},
    {"chatglm-bpe", kLlama3},
    {"qwen2", kQwen2},
    {"deepseek-r1-qwen", kQwen2},
    {"kormo", kQwen2},
    {"f2llmv2", kQwen2},
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
    {"kanana2", kGpt4o},
    {"talkie", kGpt4o},
    {"granite-embed-multi-97m", kGpt4o, true},
    {"o200k", kGpt4o},
    {"minimax-m2", kGpt4o},
    {"kimi-k2", kKimiK2},
    {"superbpe", kSuperbpe},
    {"bailingmoe", kBailing},
    {"bailingmoe2", kBailing},
    {"llada-moe", kBailing},
    {"seed-coder", kSeedCoder},
    {"jais-2", kJais2},
    {"tiny_aya", kTinyAya},
    {"cohere2moe", kTinyAya},
    {"exaone-moe", kExaoneMoe},
    {"youtu", kYoutu, true},
    {"gemma4", kGemma4, false, false, false},
    {"granite-embed-multi-311m", kGemma4, false, false, false},
    {"sarvam-moe", kGemma4, false, false, false},
};

}  // namespace

std::span<const NamedPreTokenizer> named_pre_tokenizers() {
  return kTable;
}

const NamedPreTokenizer* find_pre_tokenizer(std::string_view name) {
  for (const NamedPreTokenizer& entry : kTable) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

}  // namespace realizar::text
