#include "tools/quantize.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/amounts.h"
#include "base/ascii_case.h"
#include "base/cpu_features.h"
#include "base/printable.h"
#include "base/try.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/store_flags.h"
#include "formats/model_file.h"

namespace realizar::cli {
namespace {

struct QuantizeArgs {
  std::string in, out, type, output_type, embedding_type, imatrix, pre;
  std::vector<std::string> rules;
  uint32_t n_threads = 0;
  bool pure = false, allow_requantize = false, dry_run = false;
  StoreFlags store;
};

double bits_of(TypeId id) {
  const TypeTraits& type = traits(id);
  return 8.0 * type.block_bytes / type.block_elems;
}

std::string mix_list() {
  std::vector<std::string> names;
  for (const Mix& mix : all_mixes()) names.push_back(fmt::format("{} ({:.3g})", mix.name, bits_of(mix.base)));
  return fmt::format("{}", fmt::join(names, ", "));
}

// Types that a quantizer can make, for single tensors.
bool is_made(const TypeTraits& type) {
  return is_in_gguf(type.id) && type.id != TypeId::kQ8_K && type.id != TypeId::kNVFP4;
}

Result<TypeId> type_named(std::string name, std::string_view option) {
  std::ranges::transform(name, name.begin(),
                         [](char c) { return static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c); });
  std::vector<std::string_view> names;
  for (const TypeTraits& type : all_types()) {
    if (!is_made(type)) continue;
    if (type.name == name) return type.id;
    names.push_back(type.name);
  }
  return invalid_argument(
      fmt::format("{}: expected a type of {}; actual '{}'", option, fmt::join(names, ", "), printable(name)));
}

Result<const Mix*> mix_named(const std::string& name) {
  if (const Mix* mix = find_mix(name)) return mix;
  std::vector<std::string_view> names;
  for (const Mix& mix : all_mixes()) names.push_back(mix.name);
  return invalid_argument(fmt::format("--type: expected COPY, a number of general.file_type or one of {}; actual '{}'",
                                      fmt::join(names, ", "), printable(name)));
}

Result<TypeRule> read_rule(const std::string& text) {
  const size_t at = text.rfind('=');
  if (at == std::string::npos || at == 0) {
    return invalid_argument(
        fmt::format("--tensor-type: expected PATTERN=TYPE, e.g. attn_v=Q6_K; actual '{}'", printable(text)));
  }
  RZ_TRY(const TypeId type, type_named(text.substr(at + 1), "--tensor-type"));
  RZ_TRY(NamePattern pattern, NamePattern::compile(text.substr(0, at)));
  return TypeRule{std::move(pattern), type};
}

// Converts the options; the caller owns the importance matrix.
Result<QuantizeOptions> read_options(const QuantizeArgs& args, std::optional<Imatrix>& importance) {
  QuantizeOptions options;
  if (equals_ignoring_case(args.type, "COPY")) {
    const bool asks_more = args.pure || !args.rules.empty() || !args.output_type.empty() ||
                           !args.embedding_type.empty() || !args.imatrix.empty();
    if (!asks_more) return options;
    return invalid_argument("--type COPY keeps every tensor's type: expected no other types, --pure or --imatrix");
  }
  RZ_TRY(options.mix, mix_named(args.type));
  options.is_pure = args.pure;
  options.allow_requantize = args.allow_requantize;
  if (!args.output_type.empty()) {
    RZ_TRY(options.output_type, type_named(args.output_type, "--output-tensor-type"));
  }
  if (!args.embedding_type.empty()) {
    RZ_TRY(options.embedding_type, type_named(args.embedding_type, "--token-embedding-type"));
  }
  for (const std::string& text : args.rules) {
    RZ_TRY(TypeRule rule, read_rule(text));
    options.rules.push_back(std::move(rule));
  }
  if (args.imatrix.empty()) return options;
  RZ_TRY(importance, Imatrix::read(args.imatrix));
  options.importance = &*importance;
  options.importance_file = args.imatrix;
  return options;
}

std::string table_of(const SourceModel& source, const QuantizePlan& plan) {
  std::string text;
  for (size_t i = 0; i < source.tensors.size(); ++i) {
    const SourceTensor& tensor = source.tensors[i];
    const PlannedType& planned = plan.types[i];
    text += fmt::format("{:<40} {:<20} {:<8} -> {:<8} {:>10}{}\n", printable(tensor.name),
                        fmt::format("[{}]", fmt::join(tensor.shape, ", ")), traits(tensor.type()).name,
                        traits(planned.type).name, bytes_text(row_bytes(traits(planned.type), tensor.n_elems())),
                        planned.note.empty() ? "" : "  (" + planned.note + ")");
  }
  return text;
}

std::string summary_of(const QuantizePlan& plan) {
  return fmt::format("{} of {}: {:.2f} bits a weight", bytes_text(plan.n_bytes), bytes_text(plan.n_source_bytes),
                     plan.bits_per_weight());
}

void show_progress(const SourceModel& source, const QuantizePlan& plan, size_t tensor_idx, uint64_t n_done) {
  if (!stderr_is_terminal()) return;
  const double share =
      100.0 * static_cast<double>(n_done) / static_cast<double>(std::max<uint64_t>(plan.n_source_bytes, 1));
  std::fprintf(stderr, "\r\033[K%3.0f %%  %s -> %s", share, printable(source.tensors[tensor_idx].name).c_str(),
               std::string(traits(plan.types[tensor_idx].type).name).c_str());
}

int write_file(const QuantizeArgs& args, const SourceModel& source, const QuantizePlan& plan,
               const QuantizeOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  const StopSignals signals;
  QuantizeRun run;
  run.n_threads = args.n_threads > 0 ? args.n_threads : n_usable_cores();
  run.stop = &StopSignals::flag();
  run.progress = [&](size_t idx, uint64_t n_done) { show_progress(source, plan, idx, n_done); };
  const Status status = write_quantized(source, plan, options, run, args.out);
  if (stderr_is_terminal()) std::fputs("\r\033[K", stderr);
  if (!status.ok()) return fail_or_interrupted(status.error());
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return print_line(fmt::format("{}: {} in {:.1f} s", printable(args.out), summary_of(plan), seconds)) ? kOk : kFailure;
}

// One line for all matrices that get the same type for the same reason.
void warn_of_other_types(const SourceModel& source, const QuantizePlan& plan) {
  std::map<std::string, std::vector<size_t>> alike;
  for (size_t i = 0; i < plan.types.size(); ++i) {
    const PlannedType& planned = plan.types[i];
    if (!planned.note.empty()) alike[fmt::format("{}: {}", traits(planned.type).name, planned.note)].push_back(i);
  }
  for (const auto& [what, places] : alike) {
    const std::string first = printable(source.tensors[places.front()].name);
    warn(places.size() == 1 ? fmt::format("{} becomes {}", first, what)
                            : fmt::format("{} matrices, the first of them {}, become {}", places.size(), first, what));
  }
}

Result<int> quantize(const QuantizeArgs& args) {
  std::optional<Imatrix> importance;
  const auto options = read_options(args, importance);
  if (!options.ok()) {
    fail(options.error());
    return options.error().code == ErrorCode::kInvalidArgument ? kUsage : kFailure;
  }
  RZ_TRY(const FoundModel found, args.store.find(args.in));
  RZ_TRY(const ModelFile file, ModelFile::open(found.path));
  RZ_TRY(const SourceModel source, source_of(file, {args.pre}));
  RZ_TRY(const QuantizePlan plan, plan_types(source, *options));
  if (args.dry_run) return print(table_of(source, plan) + summary_of(plan) + '\n') ? kOk : kFailure;
  warn_of_differences(source.notes, source.left_out);
  warn_of_other_types(source, plan);
  return write_file(args, source, plan, *options);
}

}  // namespace

void add_quantize(CommandLine& line) {
  auto args = std::make_shared<QuantizeArgs>();
  Flags flags =
      line.command("quantize",
                   "Make a smaller file of a model. Scales and codes of each block are searched for the least error, "
                   "weighted by --imatrix for each column. Norms, vectors and routers are unchanged, and a mixture "
                   "gives some matrices more bits than others. Types, with the bits per weight of most matrices: " +
                       mix_list());
  flags.option(
      "in,-m,--model", args->in,
      "Model in F16, BF16 or F32: a .gguf file (any part of a split one), a Hugging Face folder, or a model's name",
      {.is_required = true, .takes = kFile});
  flags.option("out", args->out, "File to write; it appears only when it is complete",
               {.is_required = true, .takes = kNewFile});
  flags.option(
      "type,--type", args->type,
      "Type, e.g. Q4_K_M, in any case, or its number in general.file_type, e.g. 15; COPY: every tensor keeps its "
      "own",
      {.is_required = true});
  flags.option("--imatrix", args->imatrix, "Importance of columns, as realizar imatrix or llama-imatrix writes it",
               {.takes = kFile});
  flags.option("--tensor-type", args->rules,
               "Type of the tensors in whose name a regular expression (POSIX, extended) is found; may be given again, "
               "and the first that fits holds",
               {.shown_as = "PATTERN=TYPE"});
  flags.option("--output-tensor-type", args->output_type,
               "Type of the head, or of the embedding that is used as the head", {.shown_as = "TYPE"});
  flags.option("--token-embedding-type", args->embedding_type, "Type of the embedding", {.shown_as = "TYPE"});
  flags.flag("--pure", args->pure, "Every matrix has the same type");
  flags.flag("--allow-requantize", args->allow_requantize, "Accept an already quantized model; errors add up");
  flags.option("--pre", args->pre, "GGUF's name of a folder's pre-tokenizer, if it cannot be determined from its rules",
               {.shown_as = "NAME"});
  flags.flag("--dry-run", args->dry_run, "Print types and sizes of all tensors, and write nothing");
  flags.option("-t,--threads", args->n_threads, "Threads; 0: one per core", {.has_default = true});
  args->store.add_to(flags, StoreFlags::Network::kNone);
  flags.examples({"realizar quantize model-F16.gguf model-Q4_K_M.gguf Q4_K_M",
                  "realizar quantize Qwen3-0.6B qwen3-0.6b-Q4_K_M.gguf Q4_K_M",
                  "realizar quantize model-F16.gguf small.gguf IQ3_M --imatrix model.imatrix",
                  "realizar quantize model-F16.gguf mixed.gguf Q5_K_M --tensor-type ffn_down=Q8_0"});
  flags.runs([args] { return quantize(*args); },
             [args] { return args->n_threads > 1024 ? "--threads: at most 1024" : ""; });
}

}  // namespace realizar::cli
