#include "tools/convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "base/amounts.h"
#include "base/ascii_case.h"
#include "base/printable.h"
#include "base/try.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/store_flags.h"

namespace realizar::cli {
namespace {

struct ConvertArgs {
  std::string in, out, type = "keep", split_size, pre;
  EndSettings ends;
  StoreFlags store;
};

Result<std::optional<TypeId>> kept_or_plain_type(const std::string& name) {
  if (name == "keep") return std::optional<TypeId>();
  for (const TypeId type : {TypeId::kF32, TypeId::kF16, TypeId::kBF16}) {
    if (name == lower_case(traits(type).name) || name == traits(type).name) return std::optional(type);
  }
  return invalid_argument(fmt::format("--type: expected keep, f32, f16 or bf16; actual '{}'", printable(name)));
}

// "500M", "2G", or bytes: decimal units, like llama-gguf-split's.
Result<uint64_t> split_bytes_of(const std::string& text) {
  if (text.empty()) return uint64_t{0};
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(end, text.data() + text.size());
  const uint64_t factor = unit == "G" || unit == "g"   ? 1'000'000'000
                          : unit == "M" || unit == "m" ? 1'000'000
                          : unit.empty()               ? 1
                                                       : 0;
  constexpr uint64_t kLeast = 1'000'000, kMost = uint64_t{1} << 60;
  const bool is_right = error == std::errc() && factor > 0 && number <= kMost / factor && number * factor >= kLeast;
  if (is_right) return number * factor;
  return invalid_argument(
      fmt::format("--split-size: expected a size of 1M or more, e.g. 500M or 2G; actual '{}'", printable(text)));
}

void show_share(uint64_t n_done, uint64_t n_all) {
  if (!stderr_is_terminal()) return;
  std::fprintf(stderr, "\r\033[K%3.0f %%  %s of %s",
               100.0 * static_cast<double>(n_done) / static_cast<double>(std::max<uint64_t>(n_all, 1)),
               bytes_text(n_done).c_str(), bytes_text(n_all).c_str());
}

int report_of(const ConvertArgs& args, const ConvertReport& report, double seconds) {
  warn_of_differences(report.notes, report.left_out);
  const std::string line =
      fmt::format("{}: {} of weights in {} file{}, in {:.1f} s", printable(args.out), bytes_text(report.n_bytes),
                  report.files.size(), report.files.size() == 1 ? "" : "s", seconds);
  return print_line(line) ? kOk : kFailure;
}

Result<int> convert_model(const ConvertArgs& args) {
  const auto type = kept_or_plain_type(args.type);
  const auto split_bytes = split_bytes_of(args.split_size);
  for (const Error* error : {type.ok() ? nullptr : &type.error(), split_bytes.ok() ? nullptr : &split_bytes.error()}) {
    if (error == nullptr) continue;
    fail(*error);
    return kUsage;
  }
  RZ_TRY(const FoundModel found, args.store.find(args.in));
  const auto begin = std::chrono::steady_clock::now();
  const StopSignals signals;
  const WriteRun run{&StopSignals::flag(), show_share, {}};
  const auto report = convert(found.path, args.out, {*type, *split_bytes, args.pre, args.ends}, run);
  if (stderr_is_terminal()) std::fputs("\r\033[K", stderr);
  if (!report.ok()) return fail_or_interrupted(report.error());
  return report_of(args, *report, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
}

}  // namespace

void add_convert(CommandLine& line) {
  auto args = std::make_shared<ConvertArgs>();
  Flags flags =
      line.command("convert",
                   "Convert a model to the other format: a Hugging Face folder becomes a GGUF file, with tokenizer, "
                   "template and the metadata that llama.cpp's converter writes, and a GGUF file becomes a folder. A "
                   "GGUF file is split with --split-size, and a split one is merged without it. Settings that the "
                   "other format cannot store are refused by name; the result appears only when it is complete");
  flags.option("in,-m,--model", args->in,
               "Model: a Hugging Face folder, a .gguf file (any part of a split one), or a model's name",
               {.is_required = true, .takes = kFile});
  flags.option("out", args->out, "GGUF file to write (its name ends in .gguf), or an empty or new folder",
               {.is_required = true, .takes = kNewFile});
  flags.option("--type", args->type,
               "Type of matrices: keep, f32, f16 or bf16. Vectors are F32 in GGUF; quantized weights of a GGUF file "
               "become bf16 in a folder by default",
               {.shown_as = "TYPE", .has_default = true});
  flags.option("--split-size", args->split_size,
               "Maximum size of a file's weights, e.g. 500M or 2G: several files, named -00001-of-00003",
               {.shown_as = "SIZE"});
  flags.option("--pre", args->pre,
               "GGUF's name of the folder's pre-tokenizer, if it cannot be determined from its rules",
               {.shown_as = "NAME"});
  add_end_flags(flags, args->ends);
  args->store.add_to(flags, StoreFlags::Network::kNone);
  flags.examples({"realizar convert Qwen3-0.6B qwen3-0.6b.gguf", "realizar convert model.gguf model-folder --type bf16",
                  "realizar convert model.gguf parts/model.gguf --split-size 2G",
                  "realizar convert parts/model-00001-of-00003.gguf model.gguf"});
  flags.runs([args] { return convert_model(*args); });
}

}  // namespace realizar::cli
