// Groups of options shared by several commands, parsed once and converted to the library's structs.
#pragma once

#include <array>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cli/command_line.h"
#include "cli/rank_job.h"
#include "cli/store_flags.h"
#include "realizar/engine.h"
#include "realizar/reasoning.h"
#include "sampling/parameters.h"

namespace realizar::cli {

enum class ThreadsOption : uint8_t { kOne, kNone };  // kNone: the command has its own

// Load options: --backend, --isa, --threads, --ctx, --kv-type, --batch-tokens and others.
struct LoadFlags {
  LoadOptions options;
  StoreFlags store;  // resolves names
  MpiChoice mpi = MpiChoice::kAuto;
  void add_to(Flags flags, ThreadsOption threads_option = ThreadsOption::kOne,
              StoreFlags::Network network = StoreFlags::Network::kNone);
  // How requests share the model, for a server: --max-seqs, --kv-tokens, --prefill-tokens and others.
  void add_serving_to(Flags flags);
  // The first option given to `flags` that loads a model differently from a server; "": none.
  std::string changing_option(const Flags& flags) const;

 private:
  void add_gpu_options(Flags flags);
};

inline constexpr const char* kStandaloneHelp = "Load the model in this process also where a server of this user runs";

// Additional end tokens, and tokens that do not end answers: --end, --no-end.
void add_end_flags(Flags flags, EndSettings& ends);

// The sampler chain; options that are not given keep the model's recommendation.
struct SamplingFlags {
  void add_to(Flags flags);
  // Problems with them; empty: none.
  std::string complaint() const;
  // Applies them over the model's recommendation. Errors: InvalidArgument if a logit bias or the chain's order does not
  // parse, and for invalid breakers.
  Result<SamplingParams> over(const LanguageModel& model) const;
  // Likewise for a model that is served, without breakers.
  Status put_over(SamplingParams& params) const;
  // Nullopt: not given.
  std::optional<uint64_t> seed() const;
  // Texts that end DRY's repetitions; nullopt: those of the request, or the usual ones.
  std::optional<std::vector<std::string>> breakers() const;

 private:
  using Number = std::variant<std::optional<float>, std::optional<int32_t>, std::optional<uint64_t>>;
  std::array<Number, std::size(kSamplingParameters)> numbers_;  // for the rows of kSamplingParameters
  std::vector<std::string> logit_bias_;                         // "ID=VALUE"
  std::vector<std::string> breakers_;
  std::string samplers_, sampler_letters_;  // "top_k;temperature", "kt"; "": not given

  Result<std::optional<std::vector<SamplerKind>>> order() const;
};

// How long a model reasons before it answers.
struct ReasoningFlags {
  void add_to(Flags flags);
  // Problems with them; empty: none.
  std::string complaint() const;
  ReasoningOptions options() const;

 private:
  std::optional<std::string> effort_;
  std::optional<int32_t> budget_;
  bool is_off_ = false;
};

// Prints a line on standard error for each GPU option that was given, if the model runs on the CPU.
void warn_of_gpu_options(const LoadOptions& options);

// Loads a model, given as a file, a folder or a name, with progress on standard error if that is a terminal, and
// reports options without effect there. `ranks`: the processes that share it; null: none.
Result<LanguageModel> load_model(const std::string& model, LoadOptions options, const StoreFlags& store,
                                 Ranks* ranks = RankJob::ranks());

// Likewise for a model that must generate text. Errors: InvalidArgument, with the command to use, if it cannot.
Result<LanguageModel> load_writer(const std::string& model, const LoadFlags& load);

// The content of a file, or of standard input for "-". Errors: NotFound, InvalidArgument.
Result<std::string> read_text(const std::string& path);

// The lines of a text that are not blank, without their line breaks.
std::vector<std::string> lines_of(const std::string& text);

}  // namespace realizar::cli
