// The parameters of the sampler chain: one row each, in the order of the chain. Checks, flags, /set, requests, the C
// interface and the readers of models' recommendations iterate over this table, so a new parameter only needs a row.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include "realizar/request.h"
#include "realizar/result.h"
#include "sampling/min_p.h"
#include "sampling/top_p.h"
#include "sampling/typical.h"

namespace realizar {

// The range of a number. Both bounds are included, unless `above` excludes the lower one.
struct SamplingRange {
  double min = -std::numeric_limits<double>::infinity(), max = std::numeric_limits<double>::infinity();
  bool above = false;

  // Infinity and NaN are outside of every range.
  constexpr bool has(double value) const {
    constexpr double kMost = std::numeric_limits<double>::max();
    return (above ? value > min : value >= min) && value <= max && value >= -kMost && value <= kMost;
  }
  std::string text() const;  // e.g. "above 0, at most 1"
};

// Excludes candidates, once there are probabilities.
struct CandidateFilter {
  void (*apply)(float value, Candidates& candidates) = nullptr;
  float off = 0;              // the value that keeps all of them
  bool is_in_choice = false;  // TokenChoice includes it, so that a backend can draw the token
  bool drops_tail = false;    // it only drops the least likely, and how many it drops does not change the rest
};

struct SamplingParameter {
  // The member's name. Requests and /set use it; the flag is the name with dashes.
  std::string_view name;
  std::variant<float SamplingParams::*, int32_t SamplingParams::*, uint64_t SamplingParams::*> member;
  SamplingRange range;
  std::string_view help;
  bool is_common = false;  // shown by --help; others only by --help-all
  // Alternative names, if any.
  std::string_view other_flag = {}, other_field = {};
  std::string_view hf_key = {};    // in generation_config.json; empty: no recommendation there
  std::string_view gguf_key = {};  // after "general.sampling."; empty: no recommendation there
  bool minus_one_is_zero = false;  // in requests
  bool is_told = true;             // /v1/models reports the model's value
  CandidateFilter filter = {};

  bool is_recommended() const { return !hf_key.empty() || !gguf_key.empty(); }
};

inline constexpr SamplingParameter kSamplingParameters[] = {
    {.name = "temperature",
     .member = &SamplingParams::temperature,
     .range = {.min = 0},
     .help = "Temperature; 0: always the likeliest token",
     .is_common = true,
     .other_flag = "--temp",
     .hf_key = "temperature",
     .gguf_key = "temp"},
    {.name = "dynatemp_range",
     .member = &SamplingParams::dynatemp_range,
     .range = {.min = 0},
     .help = "Move the temperature by up to this, down where the model is certain and up where it is not; 0: not",
     .is_told = false},
    {.name = "dynatemp_exponent",
     .member = &SamplingParams::dynatemp_exponent,
     .range = {.min = 0},
     .help = "Power of the uncertainty that moves the temperature",
     .is_told = false},
    {.name = "top_k",
     .member = &SamplingParams::top_k,
     .range = {.min = 0},
     .help = "Keep the N likeliest tokens; 0: all",
     .hf_key = "top_k",
     .gguf_key = "top_k",
     .minus_one_is_zero = true},
    {.name = "typical_p",
     .member = &SamplingParams::typical_p,
     .range = {0, 1},
     .help = "Locally typical sampling: keep this much probability; 1: all",
     .hf_key = "typical_p",
     .is_told = false,
     .filter = {apply_typical, 1, true, false}},
    {.name = "top_p",
     .member = &SamplingParams::top_p,
     .range = {0, 1},
     .help = "Keep the likeliest tokens that together reach this probability; 1: all",
     .hf_key = "top_p",
     .gguf_key = "top_p",
     .filter = {apply_top_p, 1, true, true}},
    {.name = "min_p",
     .member = &SamplingParams::min_p,
     .range = {0, 1},
     .help = "Drop tokens below this share of the likeliest one's probability; 0: none",
     .hf_key = "min_p",
     .gguf_key = "min_p",
     .filter = {apply_min_p, 0, true, true}},
    {.name = "top_n_sigma",
     .member = &SamplingParams::top_n_sigma,
     .range = {.min = -1},
     .help = "Drop tokens whose logits are N standard deviations below the largest; 0 or less: none",
     .is_told = false},
    {.name = "xtc_probability",
     .member = &SamplingParams::xtc_probability,
     .range = {0, 1},
     .help = "How often XTC drops the likeliest tokens",
     .gguf_key = "xtc_probability",
     .is_told = false},
    {.name = "xtc_threshold",
     .member = &SamplingParams::xtc_threshold,
     .range = {0, 1},
     .help = "XTC drops tokens that are at least as likely, except the least likely of them; above 0.5: none",
     .gguf_key = "xtc_threshold",
     .is_told = false},
    {.name = "repeat_penalty",
     .member = &SamplingParams::repeat_penalty,
     .range = {.min = 0, .above = true},
     .help = "Divide the logits of tokens seen before by this; 1: none",
     .other_field = "repetition_penalty",
     .hf_key = "repetition_penalty",
     .gguf_key = "penalty_repeat"},
    {.name = "repeat_last_n",
     .member = &SamplingParams::repeat_last_n,
     .range = {.min = -1},
     .help = "Penalties look at the last N tokens; -1: all; 0: none",
     .gguf_key = "penalty_last_n",
     .is_told = false},
    {.name = "frequency_penalty",
     .member = &SamplingParams::frequency_penalty,
     .range = {-2, 2},
     .help = "Subtract this for each time that a token was seen"},
    {.name = "presence_penalty",
     .member = &SamplingParams::presence_penalty,
     .range = {-2, 2},
     .help = "Subtract this for tokens that were seen at all"},
    {.name = "dry_multiplier",
     .member = &SamplingParams::dry_multiplier,
     .range = {.min = 0},
     .help = "DRY: what a token costs that makes a repetition one token longer than is allowed; 0: nothing",
     .is_told = false},
    {.name = "dry_base",
     .member = &SamplingParams::dry_base,
     .range = {.min = 1},
     .help = "DRY: by how much the cost grows with each further token",
     .is_told = false},
    {.name = "dry_allowed_length",
     .member = &SamplingParams::dry_allowed_length,
     .range = {.min = 0},
     .help = "DRY: repetitions that are shorter cost nothing",
     .is_told = false},
    {.name = "dry_penalty_last_n",
     .member = &SamplingParams::dry_penalty_last_n,
     .range = {.min = -1},
     .help = "DRY looks at the last N tokens; -1: all; 0: none",
     .is_told = false},
    {.name = "mirostat",
     .member = &SamplingParams::mirostat,
     .range = {0, 2},
     .help = "Version of Mirostat, which then draws the tokens; 0: none",
     .gguf_key = "mirostat",
     .is_told = false},
    {.name = "mirostat_tau",
     .member = &SamplingParams::mirostat_tau,
     .range = {.min = 0},
     .help = "Surprise that Mirostat aims at, in bits a token",
     .gguf_key = "mirostat_tau",
     .is_told = false},
    {.name = "mirostat_eta",
     .member = &SamplingParams::mirostat_eta,
     .range = {.min = 0},
     .help = "How fast Mirostat learns",
     .gguf_key = "mirostat_eta",
     .is_told = false},
    {.name = "seed",
     .member = &SamplingParams::seed,
     .range = {},
     .help =
         "Seed of the random draws: the same seed gives the same text. Each further answer of a terminal's chat adds 1 "
         "(default: each answer draws one)",
     .is_common = true,
     .is_told = false},
};

Error out_of_range(const SamplingParameter& parameter, double value);

// Null if there is no such row.
const SamplingParameter* find_sampling_parameter(std::string_view name);

// Sets the parameter of that name. Errors: InvalidArgument for an unknown name or a value out of range.
Status set_sampling_parameter(SamplingParams& params, std::string_view name, double value);

// Calls `use` with a reference to the member.
template <class Params, class Use>
decltype(auto) visit_parameter(const SamplingParameter& parameter, Params& params, Use use) {
  return std::visit([&](auto member) -> decltype(auto) { return use(params.*member); }, parameter.member);
}

// Calls `use(value, filter)` for each filter that is on, in the order of the chain.
template <class Use>
void for_each_filter(const SamplingParams& params, Use use) {
  for (const SamplingParameter& parameter : kSamplingParameters) {
    const CandidateFilter& filter = parameter.filter;
    if (filter.apply == nullptr) continue;
    const float value = params.*std::get<float SamplingParams::*>(parameter.member);
    if (value != filter.off) use(value, filter);
  }
}

}  // namespace realizar
