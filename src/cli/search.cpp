#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/amounts.h"
#include "base/printable.h"
#include "base/try.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/store_flags.h"
#include "hub/search.h"

namespace realizar::cli {
namespace {

struct SearchArgs {
  std::vector<std::string> words;
  uint32_t n_most = 20;
  bool json = false;
  StoreFlags store;
};

// "1.7B", "30.5B", "596M"; "": unknown.
std::string parameters_text(const std::optional<uint64_t>& n) {
  if (!n) return "";
  const auto number = static_cast<double>(*n);
  return number >= 1e9 ? fmt::format("{:.3g}B", number / 1e9) : fmt::format("{:.3g}M", number / 1e6);
}

std::string table_of(const std::vector<hub::SearchHit>& hits) {
  size_t width = 4;
  for (const hub::SearchHit& hit : hits) width = std::max(width, hub::to_string(hit.name).size());
  std::string text =
      fmt::format("{:<{}}  {:>10}  {:>10}  {}\n", "NAME", width, "PARAMETERS", "DOWNLOADS", "STANDS FOR");
  for (const hub::SearchHit& hit : hits) {
    std::string line = fmt::format(
        "{:<{}}  {:>10}  {:>10}  {}", hub::to_string(hit.name), width, parameters_text(hit.n_parameters),
        hit.n_downloads ? grouped_text(*hit.n_downloads) : "", hit.stands_for ? hub::to_string(*hit.stands_for) : "");
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

Result<int> search(const SearchArgs& args) {
  RZ_TRY(const hub::HubSettings settings, args.store.hub_settings());
  const std::atomic<bool> cancelled{false};
  const auto [hits, of_hub] = hub::search(args.words, args.n_most, settings, cancelled);
  if (!of_hub.ok()) warn(of_hub.error().message);
  if (hits.empty()) {
    return not_found(fmt::format("no model was found for '{}'", shown(fmt::format("{}", fmt::join(args.words, " ")))),
                     "words");
  }
  if (!args.json) return print(table_of(hits)) ? kOk : kFailure;
  for (const hub::SearchHit& hit : hits) {
    if (!print(json_of(hit).dump() + '\n')) return kFailure;
  }
  return kOk;
}

}  // namespace

void add_search(CommandLine& line) {
  auto args = std::make_shared<SearchArgs>();
  Flags flags = line.command("search",
                             "Look for models to download. The short names are searched, and Hugging Face's "
                             "repositories with GGUF files; realizar pull takes each name that is printed");
  flags.option("words", args->words, "Words that are all in a model's name, e.g. qwen3 coder",
               {.shown_as = "WORD...", .is_required = true});
  flags.option("--limit", args->n_most, "Ask Hugging Face for at most N models, the most downloaded first",
               {.range = {1, 100}, .has_default = true});
  flags.flag("--json", args->json, "Print JSON, an object a line");
  args->store.add_hub_to(flags);
  flags.examples({"realizar search qwen3", "realizar search llama 8b --limit 5", "realizar search gemma --json"});
  flags.runs([args] { return search(*args); });
}

}  // namespace realizar::cli
