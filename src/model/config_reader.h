// Metadata -> ModelConfig: the one place where a file's keys are read and checked.
#pragma once

#include <type_traits>
#include <variant>

#include "model/config_keys.h"
#include "model/model.h"
#include "model/model_config.h"
#include "realizar/result.h"

namespace realizar {

// The row of the table that the file asks for. Errors: Unsupported, with the list of what is known.
Result<const ArchSpec*> find_architecture(const ModelFile& file);

// Layers after the model's own, which predict tokens further ahead. They have no part in the model: their tensors,
// which a file may have or lack, are left out.
Result<uint32_t> read_n_extra_layers(const ConfigKeys& keys);

// Positions that the model was trained for. Errors: FormatError, where the file does not say it.
Result<uint32_t> read_n_ctx_train(const ConfigKeys& keys);
// The longest context that the model was made for: what it was trained for, as far as its scaling of rotations
// stretches that, or `rope` in its place. Errors: those of the scaling's keys.
Result<uint32_t> longest_context(const ModelFile& file, const ModelConfig& config, const RopeSettings& rope = {});

// The note about a head that the config calls tied and that differs from the embeddings; empty: there is none.
std::string untied_head_note(const ModelFile& file, const ModelConfig& config);

// A factor of the family. Nothing where it has none, or the file does not give it and the family has no number of its
// own. Errors: FormatError, where it is not a finite number above 0.
Result<std::optional<float>> read_scale(const ConfigKeys& keys, const ModelConfig& c, const ScaleKey& scale);
// 0: none.
Result<float> read_softcap(const ConfigKeys& keys, std::string_view key);

// What layers with attention have in common (attention_config.cpp); their rotations become those of the model.
Result<AttentionConfig> read_attention(const ConfigKeys& keys, ModelConfig& c);
Result<LatentAttentionConfig> read_latent_attention(const ConfigKeys& keys, ModelConfig& c);
// What they may differ in. The rotation of those with a window is the last one.
Status place_attention(const ConfigKeys& keys, ModelConfig& c);
// Refuses a list of heads that no layer has. Errors: Unsupported.
Status check_heads(const ConfigKeys& keys, const ModelConfig& c);

// The rotary embedding with every scaling rule folded into inv_freq (rope_config.cpp); then, where the family has one,
// that of layers with a window. `n_ctx`: positions to be used, by which LongRoPE
// chooses its factors.
Result<std::vector<RopeConfig>> read_ropes(const ConfigKeys& keys, uint32_t head_dim, uint32_t n_ctx_train,
                                           uint32_t n_ctx);

// The rotation of layers with a window, of so many dimensions.
Result<RopeConfig> read_window_rope(const ConfigKeys& keys, uint32_t n_rot, const ModelConfig& c);

// The layers that a rotation is of, where those with a window have another.
enum class RopeOf : uint8_t { kFull, kWindow };

// How a rotation is stretched: as ConfigKeys::rope() says for the layers that see the whole context, else as the file
// does. config.json has the settings below "rope_scaling." or, in newer files, "rope_parameters.", there by the kind of
// layer where these differ: rope_scaling_key is the name of one of them. Numbers that a folder leaves out are those
// that transformers takes (modeling_rope_utils).
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
// The bases of the rotation, and of that of layers with a window where they have one of their own.
Result<double> read_rope_base(const ConfigKeys& keys);
Result<double> read_window_rope_base(const ConfigKeys& keys);
// What YaRN makes q.k larger by, where a model does it there and not by its rotation (DeepSeek-V2): the factor on both
// q and k. 1 where nothing is stretched.
Result<double> read_yarn_magnitude(const ConfigKeys& keys);

// How many experts a layer with experts has; 0: the model has none.
Result<uint32_t> read_n_experts(const ConfigKeys& keys);
// The ffn of each layer. Errors: FormatError, and Unsupported for what no kind of ffn computes.
Result<std::vector<FfnConfig>> read_ffns(const ConfigKeys& keys, const ModelConfig& c);

// What layers that keep a state are; all of a kind are alike.
Result<MambaConfig> read_mamba(const ConfigKeys& keys, const ModelConfig& c);
Result<Mamba2Config> read_mamba2(const ConfigKeys& keys);
Result<DeltaNetConfig> read_delta_net(const ConfigKeys& keys);
Result<KimiDeltaConfig> read_kimi_delta(const ConfigKeys& keys);
Result<Rwkv7Config> read_rwkv7(const ConfigKeys& keys, const ModelConfig& c);
Result<ShortConvConfig> read_short_conv(const ConfigKeys& keys, const ModelConfig& c);

// What mixes the positions of each layer: by the file's list, by the interval, or alike in all.
Result<std::vector<MixerKind>> read_mixer_kinds(const ConfigKeys& keys, uint32_t n_layers);
// Whether tokens see those after them, what a text's vector is made of, and how many scores it has.
Status read_pooling(const ConfigKeys& keys, ModelConfig& c);
// Of tokens; 0: they have none.
Result<uint32_t> read_n_types(const ConfigKeys& keys);
// What a vector becomes between two last products; 0: there are none.
Result<uint32_t> read_n_dense(const ConfigKeys& keys);

// Calls `change` with the config of each layer's mixer or ffn that is of its kind.
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
// Whether each layer rotates positions: by the list in config.json (1: it does) or by the interval.
Result<std::vector<bool>> read_rope_layers(const ConfigKeys& keys, uint32_t n_layers);

}  // namespace realizar
