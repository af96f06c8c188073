#include "tools/imatrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/printable.h"
#include "base/try.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/user_json.h"
#include "formats/model_file.h"

namespace realizar::cli {
namespace {

// Texts are cut into pieces of this many tokens, like in llama-imatrix.
constexpr uint32_t kDefaultChunk = 512;

struct ImatrixArgs {
  std::string model, out;
  std::vector<std::string> texts, add;
  uint32_t n_chunks = 0, save_every = 16;
  bool resume = false, process_output = false;
  LoadFlags load;
};

// The sums are double, so that their rounding does not depend on their number.
class Collector {
 public:
  explicit Collector(bool with_head) : with_head_(with_head) {}

  void add(const MatrixProduct& product) {
    if (!with_head_ && !product.matrix.starts_with("blk.")) return;
    Sums& sums = sums_of(product);
    double* own = sums.squares.data() + size_t{product.mat_idx} * product.n_cols;
    for (const float* row : product.rows) {
      for (uint32_t i = 0; i < product.n_cols; ++i) own[i] += static_cast<double>(row[i]) * row[i];
    }
    sums.counts[product.mat_idx] += static_cast<double>(product.rows.size());
  }

  // Adds the sums of an interrupted run.
  void add(const Imatrix& before) {
    for (const auto& [name, entry] : before.entries) {
      Sums& sums = sums_[name];
      sums.squares.assign(entry.sums.begin(), entry.sums.end());
      sums.counts.assign(entry.counts.begin(), entry.counts.end());
    }
  }

  void fill(Imatrix& imatrix) const {
    for (const auto& [name, sums] : sums_) {
      ImatrixEntry& entry = imatrix.entries[name];
      const auto narrow = [](double value) { return static_cast<float>(value); };
      entry.sums.resize(sums.squares.size());
      std::ranges::transform(sums.squares, entry.sums.begin(), narrow);
      entry.counts.resize(sums.counts.size());
      std::ranges::transform(sums.counts, entry.counts.begin(), narrow);
    }
  }

 private:
  struct Sums {
    std::vector<double> squares, counts;
  };

  Sums& sums_of(const MatrixProduct& product) {
    auto found = sums_.find(product.matrix);
    if (found == sums_.end()) found = sums_.emplace(std::string(product.matrix), Sums{}).first;
    Sums& sums = found->second;
    if (sums.counts.empty()) {
      sums.squares.resize(size_t{product.n_mats} * product.n_cols);
      sums.counts.resize(product.n_mats);
    }
    return sums;
  }

  bool with_head_;
  std::map<std::string, Sums, std::less<>> sums_;
};

// The texts' tokens in pieces of n_chunk; a shorter rest of a text is dropped. If a text begins with a bos token, every
// piece does.
Result<std::vector<std::vector<TokenId>>> chunks_of(const LanguageModel& model, const ImatrixArgs& args,
                                                    uint32_t n_chunk) {
  std::vector<std::vector<TokenId>> chunks;
  RZ_TRY(const std::vector<TokenId> prefix, model.tokenize(""));
  for (const std::string& path : args.texts) {
    RZ_TRY(const std::string text, read_text(path));
    RZ_TRY(const std::vector<TokenId> tokens, model.tokenize(text));
    if (tokens.size() < n_chunk) {
      return invalid_argument(
          fmt::format("{} has {} tokens; a chunk needs {} (--ctx)", source_name(path), tokens.size(), n_chunk), path);
    }
    for (size_t at = 0; at + n_chunk <= tokens.size(); at += n_chunk) {
      const auto begin = tokens.begin() + static_cast<std::ptrdiff_t>(at);
      chunks.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(n_chunk));
      if (!prefix.empty()) chunks.back()[0] = prefix[0];
    }
  }
  if (args.n_chunks > 0 && chunks.size() > args.n_chunks) chunks.resize(args.n_chunks);
  return chunks;
}

// The file of an interrupted run; empty if there is none. Errors: InvalidArgument (of another run).
Result<Imatrix> resumed(const ImatrixArgs& args, uint32_t n_chunk) {
  Imatrix imatrix;
  imatrix.datasets = args.texts;
  imatrix.chunk_size = n_chunk;
  if (!args.resume || !version_at(args.out)) return imatrix;
  RZ_TRY(Imatrix before, Imatrix::read(args.out));
  if (before.chunk_size != n_chunk || before.datasets != args.texts) {
    return invalid_argument(fmt::format("{} is of other texts, or of chunks of {} tokens (--ctx): it cannot be resumed",
                                        args.out, before.chunk_size),
                            args.out);
  }
  return before;
}

// Reads chunks from imatrix.n_chunks on. Cancelled: the file has those that were read.
Status read_chunks(LanguageModel& model, const ImatrixArgs& args, Imatrix& imatrix) {
  RZ_TRY(const auto chunks, chunks_of(model, args, imatrix.chunk_size));
  Collector collector(args.process_output);
  collector.add(imatrix);
  RZ_CHECK_OK(model.watch_products([&](const MatrixProduct& product) { collector.add(product); }));
  const StopSignals signals;
  bool is_stopped = false;
  for (size_t i = imatrix.n_chunks; i < chunks.size() && !is_stopped; ++i) {
    RZ_TRY(const auto logits, model.logits(chunks[i], static_cast<uint32_t>(chunks[i].size()), 1));
    ++imatrix.n_chunks;
    if (stderr_is_terminal()) std::fprintf(stderr, "\r\033[Kchunk %zu of %zu", i + 1, chunks.size());
    is_stopped = StopSignals::flag();
    if (is_stopped || (i + 1) % args.save_every != 0) continue;
    collector.fill(imatrix);
    RZ_CHECK_OK(imatrix.write(args.out));
  }
  if (stderr_is_terminal()) std::fputs("\r\033[K", stderr);
  collector.fill(imatrix);
  if (!is_stopped || imatrix.n_chunks == chunks.size()) return {};
  RZ_CHECK_OK(imatrix.write(args.out));
  return Error{
      ErrorCode::kCancelled,
      fmt::format("interrupted: {} has {} of {} chunks; --resume continues", args.out, imatrix.n_chunks, chunks.size()),
      ""};
}

Result<Imatrix> collect(const ImatrixArgs& args) {
  Imatrix imatrix;
  if (!args.model.empty()) {
    RZ_TRY(const FoundModel found, args.load.store.find(args.model));
    RZ_TRY(const ModelFile file, ModelFile::open(found.path));
    if (file.format() != FileFormat::kGguf) {
      return unsupported(args.model + ": expected a GGUF file, whose names of tensors an importance matrix has");
    }
    LoadOptions options = args.load.options;
    if (options.n_ctx == 0) options.n_ctx = kDefaultChunk;
    RZ_TRY(LanguageModel model, load_model(args.model, options, args.load.store));
    RZ_TRY(imatrix, resumed(args, options.n_ctx));
    RZ_CHECK_OK(read_chunks(model, args, imatrix));
  }
  for (const std::string& path : args.add) {
    RZ_TRY(const Imatrix other, Imatrix::read(path));
    RZ_CHECK_OK(imatrix.add(other));
  }
  RZ_CHECK_OK(imatrix.write(args.out));
  return imatrix;
}

int make_imatrix(const ImatrixArgs& args) {
  const auto imatrix = collect(args);
  if (!imatrix.ok()) return fail_or_interrupted(imatrix.error());
  return print_line(fmt::format("{}: importance for {} matrices from {} chunks of {} tokens", printable(args.out),
                                imatrix->entries.size(), imatrix->n_chunks, imatrix->chunk_size))
             ? kOk
             : kFailure;
}

std::string complaint_of(const ImatrixArgs& args) {
  if (args.model.empty() && args.add.empty()) return "a model and a text, or --add, is required";
  if (!args.model.empty() && args.texts.empty()) return "a text is required";
  return "";
}

}  // namespace

void add_imatrix(CommandLine& line) {
  auto args = std::make_shared<ImatrixArgs>();
  Flags flags = line.command(
      "imatrix",
      "Measure which columns of each matrix matter, for realizar quantize --imatrix. The model reads texts in chunks, "
      "and the mean square of what each column is multiplied by is written, as llama-imatrix does. --ctx is the size "
      "of "
      "a chunk in tokens (default 512)");
  flags.option("model,-m,--model", args->model, "Model: a .gguf file, best in F16 or BF16", {.takes = kFile});
  flags.option("texts,-f,--file", args->texts, "Text files like what the model will write", {.takes = kFile});
  flags.option("-o,--out", args->out, "File to write", {.is_required = true, .takes = kNewFile});
  flags.option("--chunks", args->n_chunks, "Read only the first N chunks; 0: all", {.has_default = true});
  flags.flag("--resume", args->resume, "Go on from the chunks that the file has already");
  flags.option("--add", args->add, "Add the sums of another importance matrix; may be given again", {.takes = kFile});
  flags.option("--save-every", args->save_every, "Write the file after each N chunks",
               {.range = {.min = 1}, .has_default = true});
  flags.flag("--process-output", args->process_output, "Measure the head too");
  args->load.add_to(flags);
  flags.examples({"realizar imatrix model-F16.gguf text.txt -o model.imatrix",
                  "realizar imatrix --add first.imatrix --add second.imatrix -o both.imatrix"});
  flags.runs([args] { return make_imatrix(*args); }, [args] { return complaint_of(*args); });
}

}  // namespace realizar::cli
