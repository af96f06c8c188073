// An architecture is data, and a function for what one or two families alone have. One ArchSpec a row of the table
// (list.h); no code outside this folder asks for a name.
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

// The part that a tensor plays. Fused ones are split at binding.
enum class Role : uint8_t {
  kEmbed,
  kEmbedNorm,  // of the sum of all embeddings of a token
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
  kAttnSubNorm,  // of what was attended, and of an ffn's hidden row
  kFfnSubNorm,
  kFfnNorm,
  kFfnNormBias,
  kFfnPostNorm,
  kAttnPostNormBias,
  kFfnPostNormBias,
  // Of models that score a text: what is made of the row that stands for it, and the scores.
  kPooler,
  kPoolerBias,
  kScore,
  kScoreBias,
  // What becomes of a vector.
  kDenseUp,
  kDenseDown,
  // What a layer takes of a token by a table of its own, and the factor on the stream after it.
  kLayerTable,
  kLayerTableProj,
  kLayerTableNorm,
  kInputGate,
  kInputProj,
  kInputNorm,
  kLayerScale,
  // Of AltUp: what makes the other streams and brings them back, and in each layer the router and what predictions,
  // corrections and the input of a layer's table are made with. Of LAuReL: its two products and its norm.
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
  // Numbers of an activation, which GGUF has as keys.
  kXieluAlphaP,
  kXieluAlphaN,
  kXieluBeta,
  kXieluEps,
  kWGate,
  kWUp,
  kWGateUp,
  kWDown,
  kBGate,  // of gated ffns
  kBUp,
  kBDown,
  kRouter,
  kRouterBias,  // of its logits
  kChoiceBias,  // of the scores that experts are chosen by, and not of their weights
  kExpertGate,
  kExpertUp,
  kExpertGateUp,
  kExpertDown,
  kExpertGateBias,
  kExpertUpBias,
  kExpertGateUpBias,
  kExpertDownBias,
  // Of experts behind a latent: what makes it of a row, and what makes a row of what they give.
  kExpertLatentDown,
  kExpertLatentUp,
  kExpertsBias,  // of what they give together
  // Norms of what experts read where it is not what a dense ffn reads, of what they give and of what the shared one
  // gives; factors on what the router reads, and on what each expert gives.
  kExpertNorm,
  kExpertPostNorm,
  kSharedPostNorm,
  kRouterScale,
  kExpertScale,
  kSharedRouter,  // how much of the shared expert a token takes
  kSharedGate,
  kSharedUp,
  kSharedGateUp,
  kSharedDown,
  kSinks,
  // Of latent attention: queries by a low rank, the latent and the rotated key beside it, and what makes keys and
  // values of a latent, for all heads in one matrix or in a stack each.
  kWqA,
  kWqB,
  kWLatent,
  kLatentNorm,
  kLatentKv,
  kLatentK,
  kLatentV,
  // Of state spaces: the projection into their parts, the convolution over these, the decay, what the input is taken
  // by, the step's bias, the norm of what comes out, and the projection back.
  kSsmIn,
  kSsmConv,
  kSsmConvBias,
  kSsmA,
  kSsmD,
  kSsmDtBias,
  kSsmNorm,
  kSsmOut,
  // Of Mamba's, beside those: the projection into the low rank of the steps and what states take in and give out, that
  // which raises the rank, and the norms of these parts.
  kSsmX,
  kSsmDt,
  kSsmDtNorm,
  kSsmBNorm,
  kSsmCNorm,
  // Of gated delta nets, beside those: queries, keys and values, and the gate; or all in one; what a row learns and
  // what it keeps; or both in one.
  kDeltaQkv,
  kDeltaGate,
  kDeltaIn,
  kDeltaBeta,
  kDeltaDecay,
  kDeltaBetaDecay,
  // Of Kimi's delta attention: a convolution each, and the low ranks of decay and gate.
  kConvQ,
  kConvK,
  kConvV,
  kDecayLow,
  kGateLow,
  // Of RWKV, beside those: how much of the row before it a row takes for each of what is made of it, in one tensor or
  // in one each; the bias of the decay; the rate at which values are replaced and the share of the first layer's
  // values, each by a low rank; factors of keys; and the bias of the norm.
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

// A dimension by its meaning; its size follows from the config.
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
  kLayerVocab,  // rows of the layers' own table
  kStreams,
  kOtherStreams,
  kStreamPairs,
  kLaurelRank,
  kHalfRot,
  kExperts,
  kExpertFf,
  kExpertGateUp,
  kExpertIn,  // what experts read: d_model, or a latent
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

// "{}" in a name stands for the layer; a second "{}" for the expert, where a file keeps one matrix an expert, or for
// the row, where it keeps one vector a row. A role may have several rows in a table: the file has one of them.
struct TensorSpec {
  Role role;
  Need need;
  Shard shard;  // of a stack of experts: of each
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
enum class FfnKind : uint8_t { kGated, kPlain, kChannelMix, kNone };  // of a model without experts
enum class MoeRule : uint8_t { kNone, kIfConfigured, kAlways };

// Which layers of a folder have its window, where it does not list them: those that the family's interval leaves; or,
// with "use_sliding_window" alone, those from "max_window_layers" on, every other one before that, or all. In GGUF
// only a list gives families of the latter kinds windows, as llama.cpp reads none for them.
enum class HfWindows : uint8_t { kByInterval, kFromLayer, kEvenBeforeLayer, kAll };

// How folders store matrices where it is not as [out, in]: all but tables and the head as [in, out] (Conv1D); experts'
// stacks that are not quantized as [n_experts, in, out]; the same, with gate's and up's columns in pairs of one each;
// or a layer's experts below each other in one matrix, downs as [in, out].
enum class HfForm : uint8_t { kPlain, kTransposed, kTransposedExperts, kPairedExperts, kFlatExperts };

// Names of config.json's keys where families differ. "": the family has none.
struct HfKeys {
  std::string_view d_model = "hidden_size", n_layers = "num_hidden_layers", n_heads = "num_attention_heads",
                   n_kv_heads = "num_key_value_heads", d_ff = "intermediate_size", n_ctx = "max_position_embeddings",
                   norm_eps = "rms_norm_eps", activation = "hidden_act", n_experts = "num_local_experts",
                   n_experts_used = "num_experts_per_tok", expert_d_ff = "intermediate_size", shared_d_ff = "",
                   n_shared = "", renormalize = "", routed_scale = "", n_leading_dense = "", window = "sliding_window";
  std::string_view windowed_type = "sliding_attention";  // in the list of the layers' types
  std::string_view expert_layers = "";                   // a list of those that have experts
  std::string_view expert_interval = "";                 // one layer in this many has experts
  std::string_view last_expert_layer = "";               // those after it have none; -1: there are none
  std::string_view score = "scoring_func";
  std::string_view attn_dims = "";  // q.k is divided by its square root
  std::string_view rope_base = "rope_theta";
  std::string_view rope_base_factor = "";  // on the base that the family has
  std::string_view rope_share = "partial_rotary_factor";
  std::string_view n_rot = "";        // dimensions of a head that are rotated, instead of their share
  std::string_view one_kv_head = "";  // true: there is one KV head, whatever n_kv_heads says
  std::string_view layer_kinds = "";  // a list of what mixes each layer
  std::string_view window_list = "";  // a list of 1 for layers with a window, and of 0
  std::string_view rope_list = "";    // the same of those that are rotated
  std::string_view head_dim = "head_dim", window_rope_base = "rope_local_base_freq",
                   full_interval = "sliding_window_pattern";
  uint32_t d_ff_factor = 0;  // of d_model, where the file gives no d_ff; 0: it must
  // With one of these true, q.k is divided by head_dim, not by its root.
  std::string_view by_head_dim = "", older_by_head_dim = "";
};

// The same of state spaces.
struct HfSsmKeys {
  std::string_view n_heads = "", head_dim = "", n_groups = "", d_state = "", n_taps = "";
  std::string_view attending_layers = "";  // a list of the layers that are not recurrent
  std::string_view n_inner = "", dt_rank = "";
  std::string_view expand = "";  // n_inner as a multiple of d_model
  int64_t first_layer = 0;       // what it calls the first layer
};

// How config.json's number gives a factor: it is the factor, or is divided by the root of the number of layers or by
// the model's width.
enum class ScaleRule : uint8_t { kAsIs, kByRootOfLayers, kByWidth };

// A factor that files give. "": this format has none.
struct ScaleKey {
  std::string_view gguf = "", hf = "";
  bool gguf_divides = false, hf_divides = false;
  ScaleRule hf_rule = ScaleRule::kAsIs;
  // config.json's number may be a product of two; older files have another name for it.
  std::string_view hf_times = "", hf_older = "";
  float gguf_otherwise = 1, hf_otherwise = 1;  // config.json's number, by its rule, where a file gives none
};

// A number of files that do not give it, by its name in one of the formats; n_layers: of models with so many alone.
struct Default {
  std::string_view gguf = "", hf = "";
  double value;
  uint32_t n_layers = 0;
};

// A setting of config.json with the one value that is computed: another is refused by name.
struct HfFlag {
  std::string_view key;
  bool value;
  bool is_required = false;  // it stands for the other value where config.json does not give it
};

// The same of a number, which may be another one too.
struct HfNumber {
  std::string_view key;
  double value;
  std::optional<double> also = {};
};

// A tensor of the first layer that only files of this row of the table have, where several have one name.
struct Marker {
  std::string_view gguf = "", hf = "";
};

// How a family's experts are chosen where the file does not say.
struct Routing {
  RouteScore score = RouteScore::kSoftmax;
  bool renormalize = true;
  bool hf_renormalize = false;               // where config.json may say it and does not
  bool gguf_shared_width_is_of_one = false;  // of several shared experts
  uint32_t n_shared = 0;                     // where the file says neither how many are shared nor how wide they are
  ExpertInput input = ExpertInput::kFfnInput;
  // How wide the shared expert is, where families have a dense ffn in its place: as files call d_ff, or as the model.
  bool is_dense_shared = false, is_shared_of_model_width = false;
  std::optional<Activation> activation = {};  // of experts; nothing: as dense ffns have it
};

// Takes the keys of a file that is made, by their GGUF name below "<arch>." or their Hugging Face name, whichever the
// file has; "": that format has none.
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
  // Of layers that have no KV heads by the file's list, or that its list of kinds names so; nothing: all are alike.
  std::optional<MixerKind> recurrent = {};
  // What mixes beside it in every layer: both read the same, and both are added to the stream.
  std::optional<MixerKind> beside = {};
  // A layer mixes or has an ffn, after its one norm. In GGUF the widths of ffns are a list, with 0 for layers that mix;
  // config.json has a pattern of letters, or a list of kinds.
  bool has_one_branch = false;
  bool gguf_key_heads_in_turn = false;  // GGUF has the heads of a delta net in the order of DeltaRuleOp's trait
  FfnKind ffn = FfnKind::kGated;
  Activation activation = Activation::kSilu;
  std::optional<Activation> hf_activation = {};  // where config.json gives none; nothing: the same
  QkNorm qk_norm = QkNorm::kNone;                // where the file has the tensors
  QkvRows hf_qkv_rows = QkvRows::kStacked;
  uint32_t hf_skipped_positions = 0;  // rows of Hugging Face's position table before that of the first position
  // Tokens see those after them too, an encoder: texts become vectors or scores.
  bool is_bidirectional = false;
  bool gguf_interleaved_rope = false;  // GGUF keeps q and k rows in pairs (2i, 2i+1), not in halves
  bool hf_interleaved_rope = false;    // Hugging Face does
  bool embed_scale_sqrt_d_model = false;
  ScaleKey embed_scale = {}, residual_scale = {}, attn_scale = {}, logit_scale = {}, clip = {}, temperature = {},
           alibi_scale = {};
  bool hf_norm_plus_one = false;  // Hugging Face keeps w, the norm multiplies by 1 + w; GGUF has it folded in
  bool has_window = false;        // the file may give a sliding window
  HfWindows hf_windows = HfWindows::kByInterval;
  uint32_t full_interval = 0;          // with a window, one layer in this many sees the whole context; 0: none does
  bool full_comes_first = false;       // that one is the first of them, not the last
  bool full_lacks_rope = false;        // with a window, layers that see the whole context are without rope
  uint32_t nope_interval = 0;          // one layer in this many is without rope; 0: none
  bool has_latents_in_halves = false;  // files keep rotated rows of latent attention in halves
  // What positions count for instead of a rotation: the largest factor of ALiBi's slopes, where files do not tell; 0:
  // there is none.
  float alibi = 0;
  double hf_rope_share = 1;           // of a head's dimensions that are rotated, where config.json does not tell
  float hf_rope_base = 10000;         // of the rotation, where config.json gives none; GGUF's is RoFormer's
  bool window_rope_unscaled = false;  // layers with a window turn by the same base, and no scaling
  float window_rope_base = 0;         // of layers with a window, where the file gives none; 0: as in all others
  bool has_either_eps = false;        // GGUF may have the norms' epsilon under the name of the other kind of norm
  std::optional<Need> softcaps = {};  // of q.k and of the logits; nothing: the family has none
  MoeRule moe = MoeRule::kNone;
  // Where config.json gives none; 0: it must.
  uint32_t hf_n_ctx = 0;
  float hf_norm_eps = 0;
  std::span<const Default> defaults = {};
  std::span<const HfFlag> hf_flags = {};
  std::span<const HfNumber> hf_numbers = {};
  std::string_view hf_left_out = "";  // names of tensors that begin so have no part in the model; "": none
  Routing routing = {};
  bool experts_by_tensors = false;  // layers have experts where the file has a router for them
  HfForm hf_form = HfForm::kPlain;
  HfKeys hf_keys = {};
  HfSsmKeys hf_ssm_keys = {};
  Marker marker = {};
  // Changes what all the above has made of a file, where this family alone differs.
  Status (*adjust)(const ConfigKeys& keys, ModelConfig& config) = nullptr;
  // Tells what adjust() reads to a file that is made of a config.
  void (*tell)(const ModelConfig& config, KeyTeller& keys) = nullptr;

  // Whether files say how many layers come before those with experts, and that of the latter one in so many has them.
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
  // ALiBi is what tells positions: a file that gives none is refused.
  constexpr bool needs_alibi() const { return !alibi_scale.hf.empty(); }
};

}  // namespace realizar
