#include "server/models/infill.h"

#include <utility>

namespace realizar::server {
namespace {

// How vocabularies spell the three markers.
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

// How vocabularies spell the markers of a repository and of each file in it.
struct FileMarks {
  const char *repository, *file;
};
constexpr FileMarks kFileMarks[] = {
    {"<|repo_name|>", "<|file_sep|>"},  // Qwen
    {"<repo_name>", "<file_sep>"},      // StarCoder 2
    {"<reponame>", "<filename>"},       // StarCoder
};

// The default names.
constexpr std::string_view kRepositoryName = "repository", kFileName = "filename";

class InfillTokens {
 public:
  explicit InfillTokens(const text::Tokenizer& tokenizer) : tokenizer_(tokenizer) {
    if (const auto bos = tokenizer.bos(); bos && tokenizer.encode("a").front() == *bos) tokens_.push_back(*bos);
  }

  void add(TokenId mark) { tokens_.push_back(mark); }
  void add(std::string_view text) {
    const auto ids = tokenizer_.encode(text, {.add_special = false, .parse_special = false});
    tokens_.insert(tokens_.end(), ids.begin(), ids.end());
  }
  void add_files(std::span<const InfillFile> files);
  std::vector<TokenId> take() { return std::move(tokens_); }

 private:
  const text::Tokenizer& tokenizer_;
  std::vector<TokenId> tokens_;
};

void InfillTokens::add_files(std::span<const InfillFile> files) {
  if (files.empty()) return;
  for (const FileMarks& marks : kFileMarks) {
    const auto repository = tokenizer_.find(marks.repository), file_mark = tokenizer_.find(marks.file);
    if (!repository || !file_mark) continue;
    add(*repository);
    add(std::string(kRepositoryName) + "\n");
    for (const InfillFile& file : files) {
      add(*file_mark);
      add(file.name + "\n" + file.text);
    }
    add(*file_mark);
    return add(std::string(kFileName) + "\n");
  }
  for (const InfillFile& file : files) add(file.text);
}

}  // namespace

std::optional<std::vector<TokenId>> infill_prompt(const text::Tokenizer& tokenizer, std::string_view before,
                                                  std::string_view after, std::span<const InfillFile> files,
                                                  std::string_view begun) {
  for (const Marks& marks : kMarks) {
    const auto before_mark = tokenizer.find(marks.before), after_mark = tokenizer.find(marks.after),
               middle_mark = tokenizer.find(marks.middle);
    if (!before_mark || !after_mark || !middle_mark) continue;
    InfillTokens tokens(tokenizer);
    tokens.add_files(files);
    tokens.add(*before_mark);
    tokens.add(before);
    tokens.add(*after_mark);
    tokens.add(after);
    tokens.add(*middle_mark);
    tokens.add(begun);
    return tokens.take();
  }
  return std::nullopt;
}

}  // namespace realizar::server
