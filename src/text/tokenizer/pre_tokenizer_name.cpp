#include "text/tokenizer/pre_tokenizer_name.h"

#include <simdjson.h>

#include <optional>
#include <vector>

#include "base/try.h"
#include "text/tokenizer/builders.h"
#include "text/tokenizer/hf_json.h"
#include "text/tokenizer/hf_parts.h"
#include "text/tokenizer/pre_tokenizer_table.h"

namespace realizar::text {
namespace {

// Contractions in both cases, digits in groups and in other scripts, letters with marks, scripts that models treat
// separately, symbols before letters, line breaks and runs of spaces.
constexpr std::string_view kProbe =
    "I'm we'll DON'T it'S you're\tHTTPServer camelCase x_y  $b @user #tag\n\n\n 1 12 123 1234 12345678 3.14 1,000 "
    "v2\r\n"
    "   leading\n \n  trailing   \n\t\tcaf\u00E9 e\u0301a\u0308 na\u00EFve \u00DCber \u0438\u043C\u044F "
    "\u4E2D\u6587\u5B57abc \u3042\u30A2 \uD55C\uAE00 \u0E44\u0E17\u0E22 \u0627\u0644\u0639\u0631 \u0966\u0967\u0968 "
    "\uFF01\uFF0C\u3002 \u2026\u201Cq\u201D \u00BD\u2167 \U0001F600\u200D\U0001F525!? a/b//c\n/d (x) [y] {z} <|t|> "
    "'''quoted''' \u00A0\u2003wide != == ->> `code`~^| 100% \u20AC5 ... ;:, A.B. \n\n  \r\n\r\n  x";

std::vector<std::string> pieces_of(const PreTokenizer& pre_tokenizer) {
  Pieces pieces;
  pieces.text = kProbe;
  pieces.ranges = {{0, kProbe.size()}};
  if (pre_tokenizer != nullptr) pre_tokenizer(pieces);
  std::vector<std::string> texts;
  for (const TextRange& range : pieces.ranges)
    texts.push_back(pieces.text.substr(range.begin, range.end - range.begin));
  return texts;
}

// llama.cpp's converter no longer writes these names, or never did.
bool is_old_name(std::string_view name) {
  return name.empty() || name == "default" || name == "gpt2" || name == "llama3" || name == "llama-v3";
}

}  // namespace

Result<std::string> pre_tokenizer_name(std::string_view tokenizer_json, std::string_view hint) {
  simdjson::dom::parser parser;
  RZ_TRY(const element document, parse_side_file(parser, tokenizer_json, "tokenizer.json"));
  element section;
  if (document["pre_tokenizer"].get(section) != simdjson::SUCCESS) {
    return unsupported("tokenizer.json: without a pre_tokenizer there is no name for it in GGUF", "pre_tokenizer");
  }
  RZ_TRY(const HfPreTokenizer own, read_pre_tokenizer(section, true));
  const std::vector<std::string> wanted = pieces_of(own.part);
  const bool ignores_merges = json_bool(document["model"].value_unsafe(), "ignore_merges", false);
  std::optional<std::string> first, first_with_merges;
  for (const NamedPreTokenizer& named : named_pre_tokenizers()) {
    if (is_old_name(named.name) || named.byte_level != own.byte_level) continue;
    RZ_TRY(const auto built, build_named_pre_tokenizer(named));
    if (pieces_of(built) != wanted) continue;
    std::optional<std::string>& found = named.ignore_merges == ignores_merges ? first : first_with_merges;
    if (!found || named.name == hint) found = named.name;
  }
  if (first) return *first;
  if (first_with_merges) return *first_with_merges;
  return unsupported(
      "tokenizer.json: no pre-tokenizer that GGUF names cuts a text as this one does; if you know the name that "
      "llama.cpp has for the model, give it with --pre",
      "pre_tokenizer");
}

}  // namespace realizar::text
