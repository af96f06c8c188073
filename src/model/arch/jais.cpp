// Jais (1): LayerNorm and SwiGLU with biases, ALiBi, and q.k divided by head_dim. Its folders have factors on the
// embeddings and the logits, which GGUF folds into the matrices.
#include <cmath>

#include "base/try.h"
#include "model/arch/list.h"
#include "model/arch/tensors.h"
#include "model/config_reader.h"

namespace realizar {
namespace {

using namespace tensors;

constexpr std::string_view kJaisHfClasses[] = {"JAISLMHeadModel"};

constexpr auto kJaisTensors =
    joined(with_hf(kEmbed, "transformer.wte.weight"), kHead, with_hf(kFinalNorm, "transformer.ln_f.weight"),
           with_hf(kFinalNormBias, "transformer.ln_f.bias"), with_hf(kAttnNorm, "transformer.h.{}.ln_1.weight"),
           with_hf(kAttnNormBias, "transformer.h.{}.ln_1.bias"), with_hf(kWqkv, "transformer.h.{}.attn.c_attn.weight"),
           with_hf(kBqkv, "transformer.h.{}.attn.c_attn.bias"), with_hf(kWo, "transformer.h.{}.attn.c_proj.weight"),
           with_hf(kBo, "transformer.h.{}.attn.c_proj.bias"), with_hf(kFfnNorm, "transformer.h.{}.ln_2.weight"),
           with_hf(kFfnNormBias, "transformer.h.{}.ln_2.bias"), with_hf(kWGate, "transformer.h.{}.mlp.c_fc2.weight"),
           with_hf(kWUp, "transformer.h.{}.mlp.c_fc.weight"), with_hf(kWDown, "transformer.h.{}.mlp.c_proj.weight"),
           required(with_hf(kGateBias, "transformer.h.{}.mlp.c_fc2.bias")),
           required(with_hf(kUpBias, "transformer.h.{}.mlp.c_fc.bias")),
           required(with_hf(kDownBias, "transformer.h.{}.mlp.c_proj.bias")),
           // Masks, and ALiBi's slopes, which follow from the number of heads.
           ignored("transformer.h.{}.attn.bias"), ignored("transformer.h.{}.attn.masked_bias"),
           ignored("transformer.relative_pe.slopes"));

// Slopes that depend on the length of the text are refused.
constexpr HfNumber kJaisHfNumbers[] = {{"alibi_scaling.factor", 1}, {"alibi_scaling.train_seq_len", 0}};

constexpr HfKeys jais_hf_keys() {
  HfKeys keys = gpt2_keys();
  keys.activation = "";
  keys.head_dim = "";
  keys.d_ff_factor = 0;
  return keys;
}

constexpr std::string_view kJaisByHeadDim = "mup_scale_qk_dot_by_d", kJaisOlderByHeadDim = "scale_qk_dot_by_d";

// Folders say whether q.k is divided by head_dim instead of its root; in GGUF it always is.
Status read_jais_divisor(const ConfigKeys& keys, ModelConfig& c) {
  const Metadata& metadata = keys.file().metadata();
  RZ_TRY(const auto given, metadata.get_bool(kJaisByHeadDim));
  RZ_TRY(const auto older, metadata.get_bool(kJaisOlderByHeadDim));
  if (!keys.is_gguf() && !given.value_or(older.value_or(false))) return {};
  change_each<AttentionConfig>(c, [](AttentionConfig& own) { own.scale = static_cast<float>(1.0 / own.head_dim); });
  return {};
}

void tell_jais_divisor(const ModelConfig& c, KeyTeller& keys) {
  const auto& own = std::get<AttentionConfig>(c.layers.front().mixer);
  keys.set("", kJaisByHeadDim, std::abs(own.scale * static_cast<float>(own.head_dim) - 1) <= 1e-6f);
}

}  // namespace

const ArchSpec kJais{
    .name = "jais",
    .hf_classes = kJaisHfClasses,
    .tensors = kJaisTensors,
    .norm = NormKind::kLayer,
    .embed_scale = {.hf = "mup_embeddings_scale", .hf_older = "embeddings_scale"},
    .logit_scale = {.hf = "mup_output_alpha", .hf_times = "mup_width_scale", .hf_older = "width_scale"},
    .alibi = {.gguf = "attention.max_alibi_bias", .hf = "max_alibi_bias", .hf_otherwise = 8},
    .hf_numbers = kJaisHfNumbers,
    .hf_form = HfForm::kTransposed,
    .hf_keys = jais_hf_keys(),
    .adjust = read_jais_divisor,
    .tell = tell_jais_divisor};

}  // namespace realizar
