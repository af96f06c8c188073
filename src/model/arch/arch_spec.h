// An architecture is data, with functions for what only one or two families have. One ArchSpec is one row of the table
// (list.h); no code outside this folder asks for an architecture's name.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "backend/op_types.h"
#include "formats/metadata.h"
#include "model/model_config.h"
#include "realizar/result.h"

namespace realizar {

class ConfigKeys;

// A tensor's part in the model. Fused tensors are split at binding.
enum class Role : uint8_t {
  kEmbed,
  kEmbedNorm,  // norm of the sum of a token's embeddings
  kEmbedNormBias,
  kPositionEmbed,
  kTypeEmbed,
  kFinalNorm,
  kFinalNormBias,
  kHead,
  kHeadBias,
  kAttnNorm,
  kAttnNormBias,
  kAttnPostNorm,
  kWq,
  kWk,
  kWv,
  kWo,
  kAttnGate,
  kBq,
  kBk,
  kBv,
  kBo,
  kWqkv,
  kWkv,
  kBqkv,
  kQNorm,
  kKNorm,
  kAttnSubNorm,  // norm of the attention's output, before wo
  kFfnSubNorm,   // norm of the ffn's hidden row, before w_down
  kFfnNorm,
  kFfnNormBias,
  kFfnPostNorm,
  kAttnPostNormBias,
  kFfnPostNormBias,
  // Rerankers: the layer after pooling, and the classifier.
  kPooler,
  kPoolerBias,
  kScore,
  kScoreBias,
  // The products after pooling of embedding models.
  kDenseUp,
  kDenseDown,
  // Per-layer embeddings (Gemma 3n and 4), and the factor on a layer's output.
  kLayerTable,
  kLayerTableProj,
  kLayerTableNorm,
  kInputGate,
  kInputProj,
  kInputNorm,
  kLayerScale,
  // AltUp: projections to and from the other streams, and each layer's router, prediction and correction coefficients
  // and scale of the corrected stream. LAuReL: its two products and its norm.
  kAltUpProj,
  kAltUpUnembed,
  kAltUpRouterNorm,
  kAltUpRouter,
  kAltUpPredict,
  kAltUpCorrect,
  kAltUpScale,
  kLaurelLeft,
  kLaurelRight,
  kLaurelNorm,
  // Numbers of the xIELU activation, which are keys in GGUF.
  kXieluAlphaP,
  kXieluAlphaN,
  kXieluBeta,
  kXieluEps,
  kWGate,
  kWUp,
  kWGateUp,
  kWDown,
  kBGate,  // only in gated ffns
  kBUp,
  kBDown,
  kRouter,
  kRouterBias,  // added to the router's logits
  kChoiceBias,  // added to the scores that choose experts, not to the experts' weights
  kExpertGate,
  kExpertUp,
  kExpertGateUp,
  kExpertDown,
  kExpertGateBias,
  kExpertUpBias,
  kExpertGateUpBias,
  kExpertDownBias,
  // Experts that read a latent: projections of a row to the latent, and of the experts' output back.
  kExpertLatentDown,
  kExpertLatentUp,
  kExpertsBias,  // added to the sum of the experts' outputs
  // Norms of the experts' input if it differs from the dense ffn's, of their output and of the shared expert's output;
  // factors on the router's input and on each expert's output.
  kExpertNorm,
  kExpertPostNorm,
  kSharedPostNorm,
  kRouterScale,
  kExpertScale,
  kSharedRouter,  // gate of the shared expert's output
  kSharedGate,
  kSharedUp,
  kSharedGateUp,
  kSharedDown,
  kSinks,
  // Latent attention: queries through a low rank, the latent with the rotated key, and the projections of a latent to
  // keys and values, in one matrix for all heads or in one stack each.
  kWqA,
  kWqB,
  kWLatent,
  kLatentNorm,
  kLatentKv,
  kLatentK,
  kLatentV,
  // State spaces: input projection, convolution, decay, skip factor, the time step's bias, output norm and output
  // projection.
  kSsmIn,
  kSsmConv,
  kSsmConvBias,
  kSsmA,
  kSsmD,
  kSsmDtBias,
  kSsmNorm,
  kSsmOut,
  // Mamba, in addition: the projection to the low rank of the time step and to B and C, the one back from the low rank,
  // and the norms of these parts.
  kSsmX,
  kSsmDt,
  kSsmDtNorm,
  kSsmBNorm,
  kSsmCNorm,
  // Gated delta nets, in addition: queries, keys and values, and the gate; or all in one; beta and decay; or both in
  // one.
  kDeltaQkv,
  kDeltaGate,
  kDeltaIn,
  kDeltaBeta,
  kDeltaDecay,
  kDeltaBetaDecay,
  // Kimi delta attention: one convolution each for q, k and v, and the low ranks of decay and gate.
  kConvQ,
  kConvK,
  kConvV,
  kDecayLow,
  kGateLow,
  // RWKV, in addition: each row's shares of the row before it (token shift), in one tensor or one for each of r, w, k,
  // v, a and g; the bias of the decay; the in-context learning rate and the share of the first layer's values, each
  // through a low rank; factors on keys; and the bias of the norm.
  kShifts,
  kShiftR,
  kShiftDecay,
  kShiftK,
  kShiftV,
  kShiftRate,
  kShiftGate,
  kDecayBias,
  kRateLow,
  kRate,
  kRateBias,
  kVShareLow,
  kVShare,
  kVShareBias,
  kRemovalScale,
  kRateScale,
  kBonusScale,
  kSsmNormBias,
  kFfnShift,
  kRopeFactors,
  kRopeShort,
  kRopeLong,
  kIgnored,
};

// A dimension by its meaning. Its size follows from the config.
enum class Dim : uint8_t {
  kNone,
  kModel,
  kQ,
  kGatedQ,  // queries and their gates
  kKv,
  kTwoKv,
  kQkv,
  kFf,
  kGateUp,
  kVocab,
  kHead,
  kHeads,
  kKvHeads,
  kLayerInput,
  kLayerInputs,
  kLayerVocab,  // rows of the table of per-layer embeddings
  kStreams,
  kOtherStreams,
  kStreamPairs,
  kLaurelRank,
  kHalfRot,
  kExperts,
  kExpertFf,
  kExpertGateUp,
  kExpertIn,  // width of the experts' input: d_model, or the latent's
  kSharedFf,
  kSharedGateUp,
  kQRank,
  kLatent,
  kLatentKey,
  kLatentKv,
  kNope,
  kValue,
  kAttended,
  kSsmIn,
  kSsmInner,
  kSsmConv,
  kSsmHeads,
  kTwoSsmHeads,
  kSsmGroups,
  kSsmGroup,
  kSsmX,
  kSsmDtRank,
  kSsmState,
  kTaps,
  kShifts,
  kDecayRank,
  kRateRank,
  kVShareRank,
  kGateRank,
  kOne,
  kCtx,
  kTypes,
  kLabels,
  kDense
};

enum class Need : uint8_t { kRequired, kOptional };

// "{}" in a name stands for the layer. A second "{}" stands for the expert if files have one matrix per expert, or for
// the row if they have one vector per row. A role may have several rows in a table; a file has one of them.
struct TensorSpec {
  Role role;
  Need need;
  Shard shard;  // in a stack of experts, the rule for each expert
  Dim rows;
  Dim cols;               // kNone: a vector of `rows` elements
  std::string_view gguf;  // "": not in this format
  std::string_view hf;
  std::string_view gguf_per_expert = {};
};

enum class MixerKind : uint8_t {
  kAttention,
  kLatentAttention,
  kMamba2,
  kDeltaNet,
  kKimiDelta,
  kShortConv,
  kMamba,
  kRwkv7,
  kNone
};
enum class FfnKind : uint8_t { kGated, kPlain, kChannelMix, kNone };  // for layers without experts
enum class MoeRule : uint8_t { kNone, kIfConfigured, kAlways };

// Layers with the file's sliding window, unless it lists them: all but the last of each full_interval layers, or all
// but the first. Other families need "use_sliding_window" in config.json: layers from "max_window_layers" on, every
// other one before that, or all. For these GGUF must list the layers, since llama.cpp reads no window for them.
enum class WindowRule : uint8_t { kNone, kByInterval, kFullFirst, kFromLayer, kEvenBeforeLayer, kAll };

// Formats that store the rotated rows of q and k in pairs (2i, 2i + 1) instead of halves.
enum class RopePairs : uint8_t { kNone, kGguf, kBoth };

// Storage of matrices in folders. kPlain: all as [out, in]. kTransposed: all except tables and the head as [in, out]
// (Conv1D). kTransposedExperts: unquantized stacks of experts as [n_experts, in, out]. kPairedExperts: likewise, with
// columns of gate and up interleaved. kFlatExperts: a layer's experts below each other in one matrix, with w_down as
// [in, out].
enum class HfForm : uint8_t { kPlain, kTransposed, kTransposedExperts, kPairedExperts, kFlatExperts };

// The names of config.json's keys that differ between families. "": the family has none.
struct HfKeys {
  std::string_view d_model = "hidden_size", n_layers = "num_hidden_layers", n_heads = "num_attention_heads",
                   n_kv_heads = "num_key_value_heads", d_ff = "intermediate_size", n_ctx = "max_position_embeddings",
                   norm_eps = "rms_norm_eps", activation = "hidden_act", n_experts = "num_local_experts",
                   n_experts_used = "num_experts_per_tok", expert_d_ff = "intermediate_size", shared_d_ff = "",
                   n_shared = "", renormalize = "", routed_scale = "", n_leading_dense = "", window = "sliding_window";
  std::string_view windowed_type = "sliding_attention";  // in the list of the layers' types
  std::string_view expert_layers = "";                   // a list of the layers with experts
  std::string_view expert_interval = "";                 // every n-th layer has experts
  std::string_view last_expert_layer = "";               // the last layer with experts; -1: the model's last
  std::string_view score = "scoring_func";
  std::string_view attn_dims = "";  // q.k is divided by the square root of this number
  std::string_view rope_base = "rope_theta";
  std::string_view rope_base_factor = "";  // factor on the family's base
  std::string_view rope_share = "partial_rotary_factor";
  std::string_view n_rot = "";        // rotated dimensions of a head, instead of their share
  std::string_view one_kv_head = "";  // true: one KV head, whatever n_kv_heads says
  std::string_view layer_kinds = "";  // a list of the layers' mixers
  std::string_view window_list = "";  // a list with 1 for layers with a window, else 0
  std::string_view rope_list = "";    // a list with 1 for layers with a rotation, else 0
  std::string_view head_dim = "head_dim", window_rope_base = "rope_local_base_freq",
                   full_interval = "sliding_window_pattern";
  uint32_t d_ff_factor = 0;          // multiple of d_model if the file gives no d_ff; 0: it must
  uint32_t n_skipped_positions = 0;  // positions of n_ctx and of the position table before a text's first one
  std::optional<Activation> default_activation = {};  // if the file names none; nothing: the family's
};

// The names of the keys of recurrent layers.
struct HfSsmKeys {
  std::string_view n_heads = "", head_dim = "", n_groups = "", d_state = "", n_taps = "";
  std::string_view attending_layers = "";  // a list of the layers with attention
  std::string_view n_inner = "", dt_rank = "";
  std::string_view expand = "";  // n_inner as a multiple of d_model
  int64_t first_layer = 0;       // index of the first layer in that list
};

// How config.json's number becomes a factor: unchanged, divided by the root of the number of layers or by the model's
// width, or multiplied by the root of that width.
enum class ScaleRule : uint8_t { kAsIs, kByRootOfLayers, kByWidth, kTimesRootOfWidth };

// A factor by its names in files. "": this format has none.
struct ScaleKey {
  std::string_view gguf = "", hf = "";
  bool gguf_divides = false, hf_divides = false;
  ScaleRule hf_rule = ScaleRule::kAsIs;
  std::string_view hf_times = "", hf_older = "";  // second factor of config.json's number, and its older name
  float gguf_otherwise = 1, hf_otherwise = 1;     // config.json's number, by its rule, if the file gives none
};

// Factors that no file gives.
constexpr ScaleKey always(float factor) {
  return {.gguf_otherwise = factor, .hf_otherwise = factor};
}
inline constexpr ScaleKey kRootOfWidth{.hf_rule = ScaleRule::kTimesRootOfWidth};

// A number for files that lack it, by its name in one of the formats.
struct Default {
  std::string_view gguf = "", hf = "";
  double value = 0;
  uint32_t n_layers = 0;             // only for models with this many layers; 0: for all
  std::string_view gguf_other = "";  // GGUF's key whose number replaces `value`
};

// A setting of config.json with its one supported value: another one is refused by name.
struct HfFlag {
  std::string_view key;
  bool value;
  bool is_required = false;  // a config.json without the key has the other value
};

// A number of config.json with its supported values.
struct HfNumber {
  std::string_view key;
  double value;
  std::optional<double> also = {};
};

// A tensor of the first layer that tells files of this row from those of other rows with the same name.
struct Marker {
  std::string_view gguf = "", hf = "";
};

// The choice of a family's experts, unless the file says otherwise.
struct Routing {
  RouteScore score = RouteScore::kSoftmax;
  bool renormalize = true;
  bool hf_renormalize = false;               // if config.json has no value although the family has a key for it
  bool gguf_shared_width_is_of_one = false;  // GGUF has the width of one of the shared experts
  uint32_t n_shared = 0;                     // if the file has neither their number nor their width
  ExpertInput input = ExpertInput::kFfnInput;
  // Families with a dense ffn instead of a shared expert: its width is d_ff, or the model's.
  bool is_dense_shared = false, is_shared_of_model_width = false;
  std::optional<Activation> activation = {};  // the experts' activation; nothing: that of dense ffns
};

// Receives the keys of a file that is written, by their GGUF name below "<arch>." and their Hugging Face name.
// "": that format has none.
class KeyTeller {
 public:
  virtual ~KeyTeller() = default;
  virtual void set(std::string_view gguf, std::string_view hf, MetaValue value) = 0;
};

struct ArchSpec {
  std::string_view name;                         // GGUF's general.architecture
  std::span<const std::string_view> hf_classes;  // config.json's architectures
  std::span<const TensorSpec> tensors;
  NormKind norm = NormKind::kRms;
  NormPlace norm_place = NormPlace::kPre;
  MixerKind mixer = MixerKind::kAttention;
  // Mixer of the layers that have no KV heads, or are called recurrent, in the file's list; nothing: all are alike.
  std::optional<MixerKind> recurrent = {};
  bool gguf_key_heads_in_turn = false;  // order of a delta net's heads in GGUF, as DeltaRuleOp's field
  FfnKind ffn = FfnKind::kGated;
  Activation activation = Activation::kSilu;
  QkNorm qk_norm = QkNorm::kNone;  // if the file has the tensors
  QkvRows hf_qkv_rows = QkvRows::kStacked;
  // Tokens see those after them too, an encoder: texts become vectors or scores.
  bool is_bidirectional = false;
  RopePairs rope_pairs = RopePairs::kNone;
  ScaleKey embed_scale = {}, residual_scale = {}, attn_scale = {}, logit_scale = {}, clip = {}, temperature = {};
  ScaleKey alibi = {};            // ALiBi's maximum bias, for families with slopes instead of rotations
  bool hf_norm_plus_one = false;  // Hugging Face stores w for norms that multiply by 1 + w; GGUF stores 1 + w
  WindowRule window_rule = WindowRule::kNone;
  uint32_t full_interval = 0;         // with a window, every n-th layer sees the whole context; 0: none does
  bool full_lacks_rope = false;       // with a window, layers that see the whole context have no rotation
  uint32_t nope_interval = 0;         // every n-th layer has no rotation; 0: all have one
  double hf_rope_share = 1;           // rotated share of a head's dimensions, if config.json has none
  float hf_rope_base = 10000;         // base of the rotation, if config.json has none; GGUF's default is RoFormer's
  float window_rope_base = 0;         // base in layers with a window, if the file has none; 0: that of all layers
  std::optional<Need> softcaps = {};  // on q.k and on the logits; nothing: the family has none
  MoeRule moe = MoeRule::kNone;
  // If config.json has none; 0: it must.
  uint32_t hf_n_ctx = 0;
  float hf_norm_eps = 0;
  std::span<const Default> defaults = {};
  std::span<const HfFlag> hf_flags = {};
  std::span<const HfNumber> hf_numbers = {};
  std::string_view hf_left_out = "";  // prefix of tensors' names that have no part in the model; "": none
  Routing routing = {};
  HfForm hf_form = HfForm::kPlain;
  HfKeys hf_keys = {};
  HfSsmKeys hf_ssm_keys = {};
  Marker marker = {};
  // Changes the config that the columns above have given, if the family differs.
  Status (*adjust)(const ConfigKeys& keys, ModelConfig& config) = nullptr;
  // Writes the keys that adjust() reads, for a file that is made from a config.
  void (*tell)(const ModelConfig& config, KeyTeller& keys) = nullptr;

  constexpr bool has_gguf_pairs() const { return rope_pairs != RopePairs::kNone; }
  constexpr bool has_hf_pairs() const { return rope_pairs == RopePairs::kBoth; }
  constexpr bool has_window() const { return window_rule != WindowRule::kNone; }
  constexpr bool needs_window_flag() const { return window_rule >= WindowRule::kFromLayer; }
  // Whether layer `idx` has a window if every `interval`-th layer sees the whole context.
  constexpr bool has_window_by_interval(uint32_t idx, uint32_t interval) const {
    return interval == 0 || (window_rule == WindowRule::kFullFirst ? idx : idx + 1) % interval != 0;
  }
  // Whether only some layers may have ffns; the width of the others is 0.
  constexpr bool may_lack_ffns() const { return recurrent && ffn == FfnKind::kPlain; }
  // Whether files give the number of dense layers before those with experts, and the interval of layers with experts.
  constexpr bool has_leading_dense() const { return !hf_keys.n_leading_dense.empty(); }
  constexpr bool has_expert_interval() const { return !hf_keys.expert_interval.empty(); }
  constexpr bool hf_transposes_linear() const { return hf_form == HfForm::kTransposed; }
  constexpr bool hf_transposes_experts() const {
    return hf_form == HfForm::kTransposedExperts || hf_form == HfForm::kPairedExperts;
  }
  constexpr bool hf_has_flat_experts() const { return hf_form == HfForm::kFlatExperts; }
  constexpr GateUpRows hf_gate_up_rows() const {
    return hf_form == HfForm::kPairedExperts ? GateUpRows::kPaired : GateUpRows::kStacked;
  }
  // Whether a file without ALiBi is refused: the model would not know positions.
  constexpr bool needs_alibi() const { return !alibi.hf.empty(); }
};

}  // namespace realizar
