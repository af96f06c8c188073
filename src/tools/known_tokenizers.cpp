#include "tools/folder_vocab.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/evp.h>

#include <array>
#include <vector>

#include "base/check.h"

namespace realizar {
namespace {

// The text that llama.cpp's converter encodes to identify tokenizers.
constexpr std::string_view kCheckedText =
    "\n \n\n \n\n\n \t \t\t \t\n  \n   \n    \n     \n\U0001F680 (normal) \U0001F636\u200D\U0001F32B\uFE0F (multi"
    "ple emojis concatenated) \u2705 \U0001F999\U0001F999 3 33 333 3333 33333 333333 3333333 33333333 3.3 3..3 3."
    "..3 \u1780\u17B6\u1793\u17CB\u178F\u17C2\u1796\u17B7\u179F\u17C1\u179F\u17A2\u17B6\u1785\U0001F601 ?\u6211"
    "\u60F3\u5728apple\u5DE5\u4F5C1314151\u5929\uFF5E ------======= \u043D\u0435\u0449\u043E \u043D\u0430 \u0411"
    "\u044A\u043B\u0433\u0430\u0440\u0441\u043A\u0438 ''''''```````\"\"\"\"......!!!!!!?\??\??\? I've been 'told "
    "he's there, 'RE you sure? 'M not sure I'll make it, 'D you like some tea? We'Ve a'lL";

struct KnownTokenizer {
  uint64_t hash;
  std::string_view pre;
};

// llama.cpp v0.5.0, conversion/base.py, get_vocab_base_pre: the first 16 digits of its hashes. If two names have the
// same hash, the converter writes the later one.
constexpr KnownTokenizer kKnownTokenizers[] = {
    {0xB0A6B1C0BD5998EB, "a.x-4.0"},
    {0x49FC0303C9E0D2C2, "afmoe"},
    {0x96A5F08BE6259352, "bailingmoe"},
    {0x9B1BE57E70D20D95, "bailingmoe2"},
    {0x8E62295832751CA1, "bert-bge-large"},
    {0x3C30D3AD1D6B6420, "bloom"},
    {0x60824E3C0D9401F8, "chameleon"},
    {0x81D72C7348A9F0EB, "chatglm-bpe"},
    {0xB6E8E1518DC4305B, "chatglm-bpe"},
    {0x7B3E7548E4308F52, "codeshell"},
    {0x52DF12B4C8D4176E, "cohere2moe"},
    {0x9C2227E4DD922002, "command-r"},
    {0xA8594E3EDFF7C29C, "dbrx"},
    {0x347715F544604F91, "deepseek-coder"},
    {0x049ECF7629871E30, "deepseek-llm"},
    {0xB3F499BB4255F8CA, "deepseek-r1-qwen"},
    {0x877081D19CF6996E, "deepseek-v3"},
    {0x4E2B24CC4770243D, "exaone"},
    {0x6C81CE329E080288, "exaone-moe"},
    {0x2085E1638F6C377A, "exaone4"},
    {0x862F827721DF9560, "f2llmv2"},
    {0x8AEEE3860C56296A, "falcon"},
    {0x3EDA48B4C4DC7DE7, "falcon-h1"},
    {0x48F8E02C0359C0BB, "falcon-h1"},
    {0x60476E1243776C4F, "falcon-h1"},
    {0xA6B57017D60E6EDB, "falcon-h1"},
    {0x9D032FCBD5501F4A, "falcon3"},
    {0x846DEAFC5B0FA786, "gemma4"},
    {0xAD851BE1DBA641F2, "gigachat"},
    {0x9CA2DD618E8AFAF0, "glm4"},
    {0xA1336059768A55C9, "glm4"},
    {0xCDF5F35325780597, "glm4"},
    {0x0FE1CF6EDA062318, "gpt-2"},
    {0x3CE83EFDA5659B07, "gpt-2"},
    {0xCCC2EF013C104BE7, "gpt-4o"},
    {0xBC01CE58980E1DB4, "gpt3-finnish"},
    {0x53E325976A6E1423, "granite-docling"},
    {0x789696F5946CC0FC, "granite-embed-multi-311m"},
    {0xF241072145675BF8, "granite-embed-multi-97m"},
    {0x66B8D4E19AB16C3B, "grok-2"},
    {0x7E57DF22B1FE23A7, "hunyuan"},
    {0xBBA3B3366B646DBD, "hunyuan-dense"},
    {0xE6DDF9C6686791C1, "hy_v4"},
    {0xB53802FB28E26D64, "jais"},
    {0xBC5108EE1EB6A3D6, "jais-2"},
    {0xC7699093BA4255A9, "jina-v1-en"},
    {0x7967BFA498ADE6B7, "jina-v2-code"},
    {0x27949A2493FC4A9F, "jina-v2-de"},
    {0xB3D1DD861F1D4C5C, "jina-v2-de"},
    {0x0876D13B50744004, "jina-v2-en"},
    {0x171AEEEDD6FB548D, "jina-v2-es"},
    {0xA023E9FDC5A11F03, "jina-v5-nano"},
    {0xB4B8CA1F9769494F, "joyai-llm"},
    {0xE4D54DF1EBC1F2B9, "kanana2"},
    {0x81212DC7CDB7E0C1, "kimi-k2"},
    {0x4A2E2ABAE11CA2B8, "kormo"},
    {0x972DA7B59CEC44D1, "laguna"},
    {0x169BF0296A13C4D9, "lfm2"},
    {0x9E454714343B69B9, "lfm2"},
    {0x0EF9807A4087EBEF, "llama-bpe"},
    {0xD353350C764D8C3B, "llama4"},
    {0xD4C8F286EA6B520B, "megrez"},
    {0xA1E163ECAB2E718A, "mellum"},
    {0x9DCF830EE9990CDB, "mellum2"},
    {0xF6791D196F87CE6B, "midm-2.0"},
    {0x1431A23E583C9743, "minerva-7b"},
    {0x36F3066E97B7F399, "minicpm5"},
    {0xF4F37B6C8EB9EA29, "minimax-m2"},
    {0xA0B64B4385F12366, "modern-bert"},
    {0xB6DC8DF998E1CFBD, "olmo"},
    {0xFCACE8B9CAC38CE8, "phi-2"},
    {0x0E9433CBBB161F89, "pixtral"},
    {0xC7EA5862A53E4272, "poro-chat"},
    {0xD4540891389EA895, "qwen2"},
    {0xE636DC30A262DCC0, "qwen2"},
    {0x1444DF51289CFA80, "qwen35"},
    {0xD30D75D9059F1AA2, "qwen35"},
    {0x6221AD2852E85CE9, "refact"},
    {0x8B5A93ED70405748, "roberta-bpe"},
    {0x62F6FB0A6FD5098C, "sarvam-moe"},
    {0xD5F1DD6F980FEC56, "seed-coder"},
    {0xC136ED14D01C2745, "smaug-bpe"},
    {0x855059429035D75A, "smollm"},
    {0x16389F0A1F51EE53, "solar-open"},
    {0x0A766D034107BC73, "spark2_5"},
    {0x32D85C31273F8019, "stablelm2"},
    {0x35D91631860C815F, "starcoder"},
    {0x7DEC86086FCC38B6, "superbpe"},
    {0xF728162C1315C26E, "talkie"},
    {0x63B97E4253352E6F, "tekken"},
    {0xD772B220ACE2BAEC, "tiny_aya"},
    {0x1994FFD01900CFB3, "trillion"},
    {0x653660222FB704F6, "ufakzeka"},
    {0x7FC505BD3104CA10, "viking"},
    {0x9D70134B369A70E5, "youtu"},
};

// Hash of the ids in the form in which Python prints a list.
uint64_t hash_of(const std::vector<TokenId>& ids) {
  std::vector<int32_t> numbers;
  for (const TokenId id : ids) numbers.push_back(static_cast<int32_t>(to_index(id)));
  const std::string text = fmt::format("[{}]", fmt::join(numbers, ", "));
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int n = 0;
  REQUIRE(EVP_Digest(text.data(), text.size(), digest.data(), &n, EVP_sha256(), nullptr) == 1);
  uint64_t first = 0;
  for (size_t i = 0; i < sizeof first; ++i) first = first << 8 | digest.at(i);
  return first;
}

}  // namespace

std::string_view known_pre_tokenizer(const text::Tokenizer& tokenizer) {
  const uint64_t hash = hash_of(tokenizer.encode(kCheckedText));
  for (const KnownTokenizer& known : kKnownTokenizers) {
    if (known.hash == hash) return known.pre;
  }
  return {};
}

}  // namespace realizar
