#include <fmt/format.h>

#include <memory>
#include <string>
#include <vector>

#include "api/text_assets.h"
#include "base/printable.h"
#include "base/try.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/store_flags.h"

namespace realizar::cli {
namespace {

constexpr const char* kModelHelp =
    "Model whose vocabulary is used: a model, or tokenizer.json, or a folder that has it";

struct TokenizeArgs {
  std::string model, text, file;
  bool ids_only = false, special = false, no_bos = false;
  StoreFlags store;
};

Result<text::Tokenizer> open_tokenizer(const std::string& model, const StoreFlags& store) {
  RZ_TRY(const FoundModel found, store.find(model));
  RZ_TRY(TextAssets assets, open_text_assets(found.path));
  return std::move(assets.tokenizer);
}

std::string ids_line(const std::vector<TokenId>& ids) {
  std::string line;
  for (const TokenId id : ids) fmt::format_to(std::back_inserter(line), "{}{}", line.empty() ? "" : " ", to_index(id));
  return line;
}

std::string table(const text::Tokenizer& tokenizer, const std::vector<TokenId>& ids) {
  std::string text;
  for (const TokenId id : ids) {
    fmt::format_to(std::back_inserter(text), "{:>8}  {}\n", to_index(id), printable(tokenizer.piece(id)));
  }
  return text;
}

Result<int> tokenize(const TokenizeArgs& args) {
  RZ_TRY(const text::Tokenizer tokenizer, open_tokenizer(args.model, args.store));
  std::string text = args.text;
  if (!args.file.empty()) {
    RZ_TRY(text, read_text(args.file));
  }
  const auto ids = tokenizer.encode(text, {.add_special = !args.no_bos, .parse_special = args.special});
  return (args.ids_only ? print_line(ids_line(ids)) : print(table(tokenizer, ids))) ? kOk : kFailure;
}

struct DetokenizeArgs {
  std::string model;
  std::vector<int32_t> ids;
  bool special = false;
  StoreFlags store;
};

Result<int> detokenize(const DetokenizeArgs& args) {
  RZ_TRY(const text::Tokenizer tokenizer, open_tokenizer(args.model, args.store));
  std::vector<TokenId> ids;
  for (const int32_t id : args.ids) {
    if (id < 0 || id >= tokenizer.n_vocab()) {
      return invalid_argument(
          fmt::format("there is no token {}: the ids of {} are 0 to {}", id, args.model, tokenizer.n_vocab() - 1));
    }
    ids.push_back(TokenId{id});
  }
  return print_model_text(tokenizer.decode(ids, {.skip_special = !args.special}) + '\n') ? kOk : kFailure;
}

}  // namespace

void add_tokenize(CommandLine& line) {
  auto args = std::make_shared<TokenizeArgs>();
  Flags flags = line.command("tokenize", "Turn text into token ids");
  flags.option("model,-m,--model", args->model, kModelHelp, {.is_required = true, .takes = kFile});
  const Option text = flags.option("text", args->text, "Text to turn into tokens");
  const Option file =
      flags.option("-f,--file", args->file, "Read the text from a file; '-': standard input", {.takes = kFile});
  flags.flag("--ids", args->ids_only, "Print only the ids, on one line");
  flags.flag("--special", args->special, "Recognise special tokens written in the text");
  flags.flag("--no-bos", args->no_bos, "Do not add the tokens that the vocabulary puts around a text");
  args->store.add_to(flags, StoreFlags::Network::kNone);
  flags.examples({"realizar tokenize model.gguf \"Hello world\"", "realizar tokenize model.gguf --ids -f text.txt"});
  flags.runs([args] { return tokenize(*args); },
             [text, file] {
               if (text.is_given() && file.is_given()) return "there is a text and a --file: expected one of them";
               return text.is_given() || file.is_given() ? "" : "TEXT or --file FILE is missing";
             });
}

void add_detokenize(CommandLine& line) {
  auto args = std::make_shared<DetokenizeArgs>();
  Flags flags = line.command("detokenize", "Turn token ids into text");
  flags.option("model,-m,--model", args->model, kModelHelp, {.is_required = true, .takes = kFile});
  flags.option("ids", args->ids, "Token ids, as `realizar tokenize MODEL TEXT --ids` prints them",
               {.is_required = true});
  flags.flag("--special", args->special, "Spell special tokens out");
  args->store.add_to(flags, StoreFlags::Network::kNone);
  flags.examples({"realizar detokenize model.gguf 15 42 7", "realizar detokenize model.gguf --special 15 42 7"});
  flags.runs([args] { return detokenize(*args); });
}

}  // namespace realizar::cli
