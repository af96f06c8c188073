#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>

#include "base/files.h"
#include "base/try.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/user_json.h"

namespace realizar::cli {
namespace {

struct LogitsArgs {
  std::string model, tokens_file, out, kv_out;
  std::optional<uint32_t> n_last, n_prompt;
  LoadFlags load;
};

Result<std::vector<TokenId>> read_ids(const std::string& path) {
  RZ_TRY(const std::string text, read_text(path));
  const std::string where = source_name(path);
  RZ_TRY(const auto json, parse_json_text(text, where));
  const auto& list = json.is_object() && json.contains("tokens") ? json["tokens"] : json;
  if (!list.is_array()) return format_error(where + ": expected a JSON array of token ids", where);
  std::vector<TokenId> ids;
  for (const auto& id : list) {
    if (!id.is_number_integer() || id.get<int64_t>() < 0 || id.get<int64_t>() > INT32_MAX) {
      return format_error(where + ": '" + id.dump() + "' is not a token id", where);
    }
    ids.push_back(TokenId{id.get<int32_t>()});
  }
  return ids;
}

// NumPy's format 1.0 (numpy.lib.format): magic, version, header length, header padded to 64 bytes, little-endian data.
Status write_npy(const std::string& path, const std::vector<float>& values, const std::vector<size_t>& shape) {
  std::string header =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}), }}", fmt::join(shape, ", "));
  constexpr size_t kPrefixBytes = 10;
  header.append(63 - (kPrefixBytes + header.size()) % 64, ' ');
  header += '\n';
  const auto n = static_cast<uint16_t>(header.size());
  const char prefix[kPrefixBytes] = {
      '\x93', 'N', 'U', 'M', 'P', 'Y', 1, 0, static_cast<char>(n & 0xff), static_cast<char>(n >> 8)};
  RZ_TRY(NewFile out, NewFile::create(path));
  RZ_CHECK_OK(out.write(std::string_view(prefix, kPrefixBytes)));
  RZ_CHECK_OK(out.write(header));
  RZ_CHECK_OK(out.write(std::as_bytes(std::span(values))));
  return out.commit();
}

std::string summary(const std::vector<float>& logits, size_t n_vocab) {
  const auto [low, high] = std::minmax_element(logits.begin(), logits.end());
  const double sum = std::accumulate(logits.begin(), logits.end(), 0.0);
  std::string text = fmt::format("count {}\nsum {:.6f}\nmin {:.6f}\nmax {:.6f}\nlikeliest of the last row\n",
                                 logits.size(), sum, *low, *high);
  const float* last = logits.data() + (logits.size() - n_vocab);
  std::vector<int> order(n_vocab);
  std::iota(order.begin(), order.end(), 0);
  const size_t n_top = std::min<size_t>(5, n_vocab);
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(n_top), order.end(),
                    [last](int a, int b) { return last[a] != last[b] ? last[a] > last[b] : a < b; });
  for (size_t i = 0; i < n_top; ++i) text += fmt::format("{:>8} {:.6f}\n", order[i], last[order[i]]);
  return text;
}

Status check_count(const char* option, uint32_t n, uint32_t n_tokens, const std::string& file) {
  if (n <= n_tokens) return {};
  return invalid_argument(
      fmt::format("{} {}: must be at most {}, the number of tokens in {}", option, n, n_tokens, file));
}

Result<int> write_logits(const LogitsArgs& args) {
  RZ_TRY(const auto tokens, read_ids(args.tokens_file));
  const auto n_tokens = static_cast<uint32_t>(tokens.size());
  const uint32_t n_last = args.n_last.value_or(n_tokens);
  RZ_CHECK_OK(check_count("--last", n_last, n_tokens, args.tokens_file));
  RZ_CHECK_OK(check_count("--prompt", args.n_prompt.value_or(n_tokens), n_tokens, args.tokens_file));
  RZ_TRY(LanguageModel model, load_model(args.model, args.load.options, args.load.store));
  const ModelInfo& info = model.info();
  KvNumbers kv;
  RZ_TRY(const auto values,
         model.logits(tokens, args.n_prompt.value_or(n_tokens), n_last, args.kv_out.empty() ? nullptr : &kv));
  RZ_CHECK_OK(write_npy(args.out, values, {n_last, info.n_vocab}));
  if (!args.kv_out.empty()) {
    kv.keys.insert(kv.keys.end(), kv.values.begin(), kv.values.end());
    RZ_CHECK_OK(write_npy(args.kv_out, kv.keys, {2, info.n_layers, n_tokens, info.n_kv_heads, info.head_dim}));
  }
  return print(summary(values, info.n_vocab)) ? kOk : kFailure;
}

}  // namespace

void add_logits(CommandLine& line) {
  auto args = std::make_shared<LogitsArgs>();
  Flags flags = line.command("logits", "Write the logits of given tokens as a NumPy file");
  flags.option("model,-m,--model", args->model, "Model", {.is_required = true, .takes = kFile});
  flags.option("--tokens", args->tokens_file, "JSON array of token ids, or an object with such an array as 'tokens'",
               {.is_required = true, .takes = kFile});
  flags.option("--out", args->out, "File to write: float32 [N, n_vocab]", {.is_required = true, .takes = kNewFile});
  flags.option("--kv", args->kv_out,
               "File for what the KV cache holds of all tokens: float32 [2, n_layers, n_tokens, n_kv_heads, head_dim], "
               "keys and then values",
               {.takes = kNewFile});
  flags.option("--last", args->n_last, "Write the logits of the last N positions (default: all)", {.range = kPositive});
  flags.option("--prompt", args->n_prompt,
               "Run the first N tokens as a prompt, in one batch, and the others one at a time (default: all)",
               {.range = kPositive});
  args->load.add_to(flags);
  flags.examples({"realizar logits model.gguf --tokens ids.json --out logits.npy",
                  "realizar logits model.gguf --tokens ids.json --out logits.npy --last 1"});
  flags.runs([args] { return write_logits(*args); });
}

}  // namespace realizar::cli
