// Prints the vector of each text, or documents ranked by how well they answer a query.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "base/json_text.h"
#include "base/try.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/service.h"

namespace realizar::cli {
namespace {

constexpr uint32_t kTextsAtOnce = 64;

// The given texts, or the lines of a file, or those of standard input if that is not a terminal.
Result<std::vector<std::string>> texts_of(const std::vector<std::string>& given, const std::string& file) {
  if (!given.empty()) return given;
  RZ_TRY(const std::string text, read_text(file.empty() ? "-" : file));
  std::vector<std::string> lines = lines_of(text);
  if (lines.empty()) return invalid_argument("there is no text: expected one per line");
  return lines;
}

std::string complaint_of(const Option& texts, const Option& file, const char* name) {
  if (texts.is_given() && file.is_given()) return fmt::format("there are {0} and a --file: expected one of them", name);
  const bool has_input = texts.is_given() || file.is_given() || !stdin_is_terminal();
  return has_input ? "" : fmt::format("{} or --file FILE are missing", name);
}

Result<LanguageModel> load_for_texts(const std::string& model, const LoadFlags& load) {
  LoadOptions options = load.options;
  options.batch.max_seqs = std::max(options.batch.max_seqs, kTextsAtOnce);
  options.batch.max_tokens = std::max(options.batch.max_tokens, kTextsAtOnce);
  options.cache.n_contexts = 1;
  return load_model(model, options, load.store);
}

struct EmbedArgs {
  std::string model, file;
  std::vector<std::string> texts;
  bool json = false, standalone = false;
  LoadFlags load;
  std::function<std::string()> loading_option = {};  // the first given option that changes how models load
};

using Vectors = std::vector<std::vector<float>>;

Result<Vectors> vectors_of_service(Service& service, const std::string& model, const std::vector<std::string>& texts) {
  RZ_TRY(const nlohmann::ordered_json opened, service.open_model(model));
  const nlohmann::ordered_json body{{"model", opened.value("id", "")}, {"input", texts}};
  RZ_TRY(const nlohmann::ordered_json answer, service.ask("/v1/embeddings", body));
  Vectors vectors;
  for (const auto& item : answer.value("data", nlohmann::ordered_json::array())) {
    vectors.push_back(item.value("embedding", std::vector<float>()));
  }
  return vectors;
}

Result<Vectors> vectors_of(const EmbedArgs& args, const std::vector<std::string>& texts) {
  const auto service = args.standalone ? nullptr : Service::find_for(args.loading_option());
  if (service != nullptr) return vectors_of_service(*service, args.model, texts);
  RZ_TRY(LanguageModel model, load_for_texts(args.model, args.load));
  return model.embed(texts);
}

Result<int> embed(const EmbedArgs& args) {
  RZ_TRY(const std::vector<std::string> texts, texts_of(args.texts, args.file));
  RZ_TRY(const Vectors vectors, vectors_of(args, texts));
  for (size_t i = 0; i < vectors.size(); ++i) {
    const bool is_printed =
        print_line(args.json ? nlohmann::ordered_json{{"index", i}, {"embedding", vectors[i]}}.dump()
                             : fmt::format("{}", fmt::join(vectors[i], " ")));
    if (!is_printed) return kFailure;
  }
  return kOk;
}

struct RerankArgs {
  std::string model, query, file;
  std::vector<std::string> documents;
  uint32_t n_wanted = 0;
  bool json = false;
  LoadFlags load;
};

Result<int> rerank(const RerankArgs& args) {
  RZ_TRY(const std::vector<std::string> documents, texts_of(args.documents, args.file));
  RZ_TRY(LanguageModel model, load_for_texts(args.model, args.load));
  RZ_TRY(const std::vector<float> relevance, model.rank(args.query, documents));
  std::vector<size_t> order(documents.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return relevance[a] > relevance[b]; });
  if (args.n_wanted > 0) order.resize(std::min<size_t>(order.size(), args.n_wanted));
  for (const size_t i : order) {
    const nlohmann::ordered_json json{{"index", i}, {"relevance_score", relevance[i]}, {"document", documents[i]}};
    const std::string shown =
        args.json ? json_text(json) + '\n' : fmt::format("{:.4f}  {}  {}\n", relevance[i], i, documents[i]);
    if (!print_model_text(shown)) return kFailure;
  }
  return kOk;
}

}  // namespace

void add_embed(CommandLine& line) {
  auto args = std::make_shared<EmbedArgs>();
  Flags flags = line.command("embed",
                             "Turn texts into normalized vectors, one per line. The model file says how a vector is "
                             "made (from the mean of all tokens' states, the first one's or the last one's)");
  flags.option("model,-m,--model", args->model, "Model, preferably one trained for embeddings",
               {.is_required = true, .takes = kFile});
  const Option texts = flags.option("texts", args->texts, "Texts; without any, the lines of standard input");
  const Option file =
      flags.option("-f,--file", args->file, "Take the lines of a file; '-': standard input", {.takes = kFile});
  flags.flag("--json", args->json, "Print JSON, one object per line");
  flags.flag("--standalone", args->standalone, kStandaloneHelp);
  args->load.add_to(flags);
  args->loading_option = [args = args.get(), flags] { return args->load.changing_option(flags); };
  flags.examples({"realizar embed bge-base.gguf \"rain\" \"sun\"", "realizar embed bge-base.gguf --json < texts.txt"});
  flags.runs([args] { return embed(*args); }, [texts, file] { return complaint_of(texts, file, "TEXTS"); });
}

void add_rerank(CommandLine& line) {
  auto args = std::make_shared<RerankArgs>();
  Flags flags = line.command("rerank",
                             "Sort documents by how well they answer a query: the score from 0 to 1, the document's "
                             "place and the document, the best first");
  flags.option("model,-m,--model", args->model, "Model that was trained for it: a reranker, or cross-encoder",
               {.is_required = true, .takes = kFile});
  flags.option("query", args->query, "The query", {.is_required = true});
  const Option documents =
      flags.option("documents", args->documents, "Documents; without any, the lines of standard input");
  const Option file =
      flags.option("-f,--file", args->file, "Take the lines of a file; '-': standard input", {.takes = kFile});
  flags.option("--top", args->n_wanted, "Print only the best N; 0: all", {.has_default = true});
  flags.flag("--json", args->json, "Print JSON, one object per line");
  args->load.add_to(flags);
  flags.examples({"realizar rerank bge-reranker.gguf \"What is rain?\" \"Water that falls.\" \"A kind of stone.\"",
                  "realizar rerank bge-reranker.gguf \"What is rain?\" --top 3 --file documents.txt"});
  flags.runs([args] { return rerank(*args); },
             [documents, file] { return complaint_of(documents, file, "DOCUMENTS"); });
}

}  // namespace realizar::cli
