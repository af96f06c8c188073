// Metadata -> ModelConfig: reads and checks all keys of a file.
#pragma once

#include <type_traits>
#include <variant>

#include "model/config_keys.h"
#include "model/model.h"
#include "model/model_config.h"
#include "realizar/result.h"

namespace realizar {

// The file's architecture. Errors: Unsupported, with the list of supported architectures.
Result<const ArchSpec*> find_architecture(const ModelFile& file);

// Number of extra layers after the model's own, which predict tokens further ahead. They are not used; a file may lack
// their tensors.
Result<uint32_t> read_n_extra_layers(const ConfigKeys& keys);

// Context length that the model was trained with. Errors: FormatError (missing).
Result<uint32_t> read_n_ctx_train(const ConfigKeys& keys);
// The trained context length, extended by the file's rope scaling or by `rope`. Errors: those of the scaling's keys.
Result<uint32_t> longest_context(const ModelFile& file, const ModelConfig& config, const RopeSettings& rope = {});

// A note if config.json declares the head tied but the file's head differs from the embeddings; otherwise empty.
std::string untied_head_note(const ModelFile& file, const ModelConfig& config);

// A factor of the architecture; nullopt if there is none. Errors: FormatError (not a finite number above 0).
Result<std::optional<float>> read_scale(const ConfigKeys& keys, const ModelConfig& c, const ScaleKey& scale);
// 0: none.
Result<float> read_softcap(const ConfigKeys& keys, std::string_view key);

// The common config of all attention layers (attention_config.cpp). Sets the model's ropes.
Result<AttentionConfig> read_attention(const ConfigKeys& keys, ModelConfig& c);
Result<LatentAttentionConfig> read_latent_attention(const ConfigKeys& keys, ModelConfig& c);
// Sets the traits in which attention layers differ. Layers with a window use the last rope.
Status set_attention_layers(const ConfigKeys& keys, ModelConfig& c);
// Checks the file's lists of heads against the layers. Errors: Unsupported.
Status check_heads(const ConfigKeys& keys, const ModelConfig& c);

// The rotary embedding with every scaling rule folded into inv_freq (rope_config.cpp), followed by that of layers with
// a window if it differs. `n_ctx`: the context length in use, by which LongRoPE chooses its factors.
Result<std::vector<RopeConfig>> read_ropes(const ConfigKeys& keys, uint32_t head_dim, uint32_t n_ctx_train,
                                           uint32_t n_ctx);

// The rotation of layers with a window, with n_rot dimensions.
Result<RopeConfig> read_window_rope(const ConfigKeys& keys, uint32_t n_rot, const ModelConfig& c);

// Layers that use a rotation: those with the whole context, or those with a window.
enum class RopeOf : uint8_t { kFull, kWindow };

// Scaling of a rotation: ConfigKeys::rope(), which only affects layers with the whole context, or the file's.
// config.json keeps the settings below "rope_scaling." or, in newer files, "rope_parameters.", there by kind of layer
// if these differ; rope_scaling_key() is the full name of a setting. Missing numbers have transformers' defaults
// (modeling_rope_utils).
struct RopeScaling {
  std::string kind;  // "none", "linear", "yarn", "llama3", "longrope", "dynamic", "proportional"
  double factor = 1;
  std::optional<double> n_ctx_old = {}, attention_factor = {};
  RopeOf of = RopeOf::kFull;
};
Result<RopeScaling> read_rope_scaling(const ConfigKeys& keys, RopeOf of = RopeOf::kFull);
std::string rope_scaling_key(const ModelFile& file, std::string_view name, RopeOf of = RopeOf::kFull);
// Errors: InvalidArgument, by field.
Status check_rope_settings(const RopeSettings& rope);
// Bases of the rotations; layers with a window may have their own.
Result<double> read_rope_base(const ConfigKeys& keys);
Result<double> read_window_rope_base(const ConfigKeys& keys);
// YaRN's factor on both q and k for models that apply it to q.k, not to the rotation (DeepSeek-V2); 1 without scaling.
Result<double> read_yarn_magnitude(const ConfigKeys& keys);

// Number of experts in a layer with experts; 0: the model has none.
Result<uint32_t> read_n_experts(const ConfigKeys& keys);
// The ffn of each layer. Errors: FormatError, Unsupported.
Result<std::vector<FfnConfig>> read_ffns(const ConfigKeys& keys, const ModelConfig& c);

// Configs of recurrent layers; all layers of a kind are equal.
Result<MambaConfig> read_mamba(const ConfigKeys& keys, const ModelConfig& c);
Result<Mamba2Config> read_mamba2(const ConfigKeys& keys);
Result<DeltaNetConfig> read_delta_net(const ConfigKeys& keys);
Result<KimiDeltaConfig> read_kimi_delta(const ConfigKeys& keys);
Result<Rwkv7Config> read_rwkv7(const ConfigKeys& keys, const ModelConfig& c);
Result<ShortConvConfig> read_short_conv(const ConfigKeys& keys, const ModelConfig& c);

// Kind of each layer's mixer: by the file's list, by an interval, or the same in all.
Result<std::vector<MixerKind>> read_mixer_kinds(const ConfigKeys& keys, uint32_t n_layers);
// Sets is_bidirectional, pooling and n_labels.
Status read_pooling(const ConfigKeys& keys, ModelConfig& c);
// Number of token types; 0: there are none.
Result<uint32_t> read_n_types(const ConfigKeys& keys);
// Width between the two dense layers after pooling; 0: there are none.
Result<uint32_t> read_n_dense(const ConfigKeys& keys);

// Calls `change` with every mixer or ffn config of type Kind.
template <class Kind, class Change>
void change_each(ModelConfig& c, const Change& change) {
  const auto change_own = [&change](auto& own) {
    if constexpr (std::is_same_v<decltype(own), Kind&>) change(own);
  };
  for (LayerConfig& layer : c.layers) {
    std::visit(change_own, layer.mixer);
    std::visit(change_own, layer.ffn);
  }
}

// The window of each layer, in positions; 0: the whole context.
Result<std::vector<uint32_t>> read_windows(const ConfigKeys& keys, uint32_t n_layers);
// Whether each layer rotates positions: by config.json's list (1: it does) or by an interval.
Result<std::vector<bool>> read_rope_layers(const ConfigKeys& keys, uint32_t n_layers);

}  // namespace realizar
