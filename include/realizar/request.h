// A caller's request to the engine: token ids only; text lives at the edges.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "realizar/generation.h"
#include "realizar/pooling.h"
#include "realizar/types.h"

namespace realizar {

// The samplers of the chain; a request may choose and order them.
enum class SamplerKind : uint8_t {
  kPenalties,  // for repetition, frequency and presence
  kDry,
  kTopNSigma,
  kTemperature,
  kTopK,
  kTypical,
  kTopP,
  kMinP,
  kXtc
};

// Texts that end DRY's repetitions; LanguageModel::sequence_breakers makes them.
struct SequenceBreakers;

// The sampler chain, applied in this order: logit bias, a constraint's tokens, the samplers in the order of
// SamplerKind, draw. All defaults are neutral except temperature, top_k and top_p.
struct SamplingParams {
  float temperature = 0.8f;  // 0: greedy, never draws
  // Above 0: the temperature varies between temperature - dynatemp_range and temperature + dynatemp_range, higher if
  // the model is less certain; its position in that interval is the normalized entropy to the power of
  // dynatemp_exponent.
  float dynatemp_range = 0.0f, dynatemp_exponent = 1.0f;
  int32_t top_k = 40;               // 0: off; 1: greedy, never draws
  float typical_p = 1.0f;           // (0, 1]; 1: off
  float top_p = 0.95f;              // (0, 1]; 1: off
  float min_p = 0.0f;               // [0, 1]; 0: off
  float top_n_sigma = 0.0f;         // standard deviations of the logits; 0 or less: off
  float xtc_probability = 0.0f;     // [0, 1]; 0: off
  float xtc_threshold = 0.1f;       // [0, 1]; above 0.5: off
  float repeat_penalty = 1.0f;      // > 0; 1: off
  int32_t repeat_last_n = 64;       // tokens of prompt and output that the three penalties see; -1: all; 0: none
  float frequency_penalty = 0.0f;   // [-2, 2]
  float presence_penalty = 0.0f;    // [-2, 2]
  float dry_multiplier = 0.0f;      // 0: off
  float dry_base = 1.75f;           // 1 or more
  int32_t dry_allowed_length = 2;   // tokens that may be repeated without a penalty
  int32_t dry_penalty_last_n = -1;  // tokens of prompt and output that DRY sees; -1: all; 0: none
  std::shared_ptr<const SequenceBreakers> dry_breakers = {};  // null: the model's for "\n", ":", "\"" and "*"
  // 1 or 2: that version of Mirostat draws the token, and of the samplers only penalties, DRY and temperature apply.
  int32_t mirostat = 0;
  float mirostat_tau = 5.0f;  // target surprise, in bits per token
  float mirostat_eta = 0.1f;  // learning rate
  // Only these, in this order; nullopt: all, in the order of SamplerKind.
  std::optional<std::vector<SamplerKind>> samplers = {};
  std::vector<std::pair<TokenId, float>> logit_bias = {};
  uint64_t seed = 0;  // draws are a function of (seed, position)
};

// Restricts the next token, such as by a grammar; for one request. Called on the engine's thread, one call at a time.
class TokenConstraint {
 public:
  virtual ~TokenConstraint() = default;
  // Sets bit t % 64 of word t / 64 for every token t that is allowed next, end tokens included, and clears all others;
  // no bit ends the request. False: any token is allowed, and `allowed` was left as it was.
  virtual bool allow(std::span<uint64_t> allowed) = 0;
  // Does a part of the work of the next allow(), so that allow() itself is fast, and returns its progress. n_work: the
  // work that may be done, in units of about five nanoseconds; the work done is subtracted, and may exceed it slightly.
  // kTooCostly ends the request.
  enum class Readiness : uint8_t { kReady, kUnderWay, kTooCostly };
  virtual Readiness prepare(int64_t& /*n_work*/) { return Readiness::kReady; }
  // Reports the chosen token.
  virtual void accept(TokenId id) = 0;
  // The chosen token would end the text. True: the text continues instead, with a token that allow() permits now.
  virtual bool refuse_end(TokenId /*id*/) { return false; }
  // A copy in the same state, for another request.
  virtual std::shared_ptr<TokenConstraint> clone() const = 0;
  // Locations of keywords in a relaxed schema that are not enforced: "#/properties/age/not".
  virtual std::vector<std::string> left_out() const { return {}; }
};

struct Request {
  std::vector<TokenId> prompt;
  SamplingParams sampling;
  std::optional<uint32_t> max_tokens;  // absent: until a stop or the end of the context; 0: none
  std::vector<TokenId> stop_tokens;    // end the generation, never part of the output
  bool ignore_eos = false;             // the model's own end tokens do not stop the text
  uint32_t n_logprobs = 0;             // number of likeliest tokens to report with each token
  bool logprobs = false;               // report the chosen token's log-probability
  bool prompt_logprobs = false;        // log-probabilities are those after the sampler chain, from which tokens are
                                       // drawn
  bool logprobs_after_chain = false;   // log-probabilities are those with which the sampler chain draws
  std::shared_ptr<TokenConstraint> constraint;
  Pooling pooling = Pooling::kNone;  // except with kNone, no token is generated
  bool trace = false;                // time every operation of its steps, which costs time itself
  // The adapter, by name; "": none; nullopt: the default one, if there is one. Unless the request sets a scale, the
  // adapter's own applies.
  std::optional<std::string> adapter = {};
  std::optional<float> adapter_scale = {};
  // How requests compete:
  int32_t priority = 0;                // smaller values go first, within the tenant
  uint64_t tenant = 0;                 // the requests of one tenant get one tenant's share
  uint64_t cache_salt = 0;             // only requests with the same salt share cached prefixes
  std::optional<uint32_t> timeout_ms;  // from arrival to the end; on expiry it ends with kDeadline
};

}  // namespace realizar
