#include "server/infill.h"

namespace realizar::server {
namespace {

// How vocabularies spell the three marks.
struct Marks {
  const char *before, *after, *middle;
};
constexpr Marks kMarks[] = {
    {"<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"},  // Qwen, CodeGemma
    {"<fim_prefix>", "<fim_suffix>", "<fim_middle>"},        // StarCoder
    {"<fim-prefix>", "<fim-suffix>", "<fim-middle>"},        // SantaCoder
    {"<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"},  // DeepSeek
    {"▁<PRE>", "▁<SUF>", "▁<MID>"},                          // Code Llama
    {"<PRE>", "<SUF>", "<MID>"},
    {"<|code_prefix|>", "<|code_suffix|>", "<|code_middle|>"},  // GLM
};

}  // namespace

std::optional<std::vector<TokenId>> infill_prompt(const text::Tokenizer& tokenizer, std::string_view before,
                                                  std::string_view after) {
  for (const Marks& marks : kMarks) {
    const auto before_mark = tokenizer.find(marks.before), after_mark = tokenizer.find(marks.after),
               middle_mark = tokenizer.find(marks.middle);
    if (!before_mark || !after_mark || !middle_mark) continue;
    std::vector<TokenId> tokens;
    if (const auto bos = tokenizer.bos(); bos && tokenizer.encode("a").front() == *bos) tokens.push_back(*bos);
    const auto append = [&](TokenId mark, std::string_view text) {
      const auto ids = tokenizer.encode(text, {.add_special = false, .parse_special = false});
      tokens.push_back(mark);
      tokens.insert(tokens.end(), ids.begin(), ids.end());
    };
    append(*before_mark, before);
    append(*after_mark, after);
    tokens.push_back(*middle_mark);
    return tokens;
  }
  return std::nullopt;
}

}  // namespace realizar::server
