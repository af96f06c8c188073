// Reads the configs of attention layers: heads, latents, scales, temperatures, windows and rotations.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/try.h"
#include "model/config_reader.h"

namespace realizar {
namespace {

// "multi_query" of Falcon and GPT-BigCode; Falcon ignores it with new_decoder_architecture.
Result<bool> read_has_one_kv_head(const ConfigKeys& keys) {
  const std::string_view key = keys.spec().hf_keys.one_kv_head;
  if (keys.is_gguf() || key.empty()) return false;
  RZ_TRY(const auto has_one, keys.file().metadata().get_bool(key));
  RZ_TRY(const auto is_new, keys.file().metadata().get_bool("new_decoder_architecture"));
  return has_one.value_or(true) && !is_new.value_or(false);
}

// The number of heads of attention layers, or the largest; other layers have 0 in a list. Nullopt: not in the file.
Result<std::optional<uint32_t>> read_n_heads(const ConfigKeys& keys, const ModelConfig& c, std::string_view gguf,
                                             std::string_view hf) {
  if (!keys.is_list(gguf, hf)) return keys.optional_int(gguf, hf, 1, kMaxHeads);
  RZ_TRY(auto numbers, keys.layer_ints(gguf, hf, c.n_layers, 0, kMaxHeads));
  if (numbers) std::erase(*numbers, 0u);
  if (!numbers || numbers->empty()) return std::optional<uint32_t>();
  return std::optional(std::ranges::max(*numbers));
}

// Refuses a list of heads that differs from the layers' number.
Status check_listed_heads(const ConfigKeys& keys, const ModelConfig& c, std::string_view gguf, std::string_view hf,
                          uint32_t AttentionConfig::*number) {
  if (!keys.is_list(gguf, hf)) return {};
  RZ_TRY(auto listed, keys.layer_ints(gguf, hf, n_file_layers(c), 0, kMaxHeads));
  for (uint32_t i = 0; listed && i < n_file_layers(c); ++i) {
    const auto* own = std::get_if<AttentionConfig>(&c.layers[i * c.n_layers_each].mixer);
    if (own == nullptr || (*listed)[i] == 0 || own->*number == (*listed)[i]) continue;
    std::erase(*listed, 0u);
    const auto [least, most] = std::ranges::minmax(*listed);
    return unsupported(fmt::format("{}: {}: layers with {} and with {} heads in one model are not supported",
                                   keys.file().path().string(), keys.key(gguf, hf), least, most),
                       keys.key(gguf, hf));
  }
  return {};
}

// Gates are a matrix, or rows after each head's query.
bool has_gate(const ArchSpec& spec) {
  return std::ranges::any_of(spec.tensors, [](const TensorSpec& tensor) {
    return tensor.role == Role::kAttnGate || (tensor.role == Role::kWq && tensor.rows == Dim::kGatedQ);
  });
}

Result<AttentionConfig> read_heads(const ConfigKeys& keys, const ModelConfig& c) {
  const HfKeys& hf = keys.spec().hf_keys;
  AttentionConfig a;
  const bool lacks_norms = is_optional(keys.spec(), Role::kQNorm) && !has_role(keys, Role::kQNorm);
  a.qk_norm = lacks_norms ? QkNorm::kNone : keys.spec().qk_norm;
  a.is_bidirectional = keys.spec().is_bidirectional;
  a.has_sinks = knows_role(keys.spec(), Role::kSinks);
  if (!keys.is_gguf()) a.qkv_rows = keys.spec().hf_qkv_rows;
  a.has_gate = has_gate(keys.spec());
  RZ_TRY(const auto n_heads, read_n_heads(keys, c, "attention.head_count", hf.n_heads));
  if (!n_heads) {
    return out_of_range(keys.file(), keys.key("attention.head_count", hf.n_heads), "a whole number", "nothing");
  }
  a.n_heads = *n_heads;
  RZ_TRY(const auto n_kv_heads, read_n_heads(keys, c, "attention.head_count_kv", hf.n_kv_heads));
  RZ_TRY(const bool has_one, read_has_one_kv_head(keys));
  a.n_kv_heads = has_one ? 1 : n_kv_heads.value_or(a.n_heads);
  if (a.n_heads % a.n_kv_heads != 0) {
    return out_of_range(keys.file(), keys.key("attention.head_count_kv", hf.n_kv_heads),
                        fmt::format("a divisor of {} heads", a.n_heads), std::to_string(a.n_kv_heads));
  }
  RZ_TRY(const auto head_dim, keys.optional_int("attention.key_length", hf.head_dim, 1, kMaxHeadDim));
  if (!head_dim && c.d_model % a.n_heads != 0) {
    return out_of_range(keys.file(), keys.key("embedding_length", hf.d_model),
                        fmt::format("a multiple of {} heads", a.n_heads), std::to_string(c.d_model));
  }
  a.head_dim = head_dim.value_or(c.d_model / a.n_heads);
  if (a.head_dim % 2 != 0 || a.head_dim > kMaxHeadDim) {
    return out_of_range(keys.file(), "head_dim", fmt::format("an even number up to {}", kMaxHeadDim),
                        std::to_string(a.head_dim));
  }
  RZ_TRY(const auto value_dim, keys.optional_int("attention.value_length", "v_head_dim", 1, kMaxWidth));
  if (value_dim.value_or(a.head_dim) != a.head_dim) {
    return unsupported(fmt::format("{}: values with {} dimensions and keys with {} are not supported",
                                   keys.file().path().string(), *value_dim, a.head_dim));
  }
  return a;
}

// In GGUF files with stacks of keys and values, key_length and value_length are dimensions of latents, and those of
// heads have other keys.
Result<LatentAttentionConfig> read_latents(const ConfigKeys& keys, const ModelConfig& c) {
  const auto dim = [&keys](std::string_view gguf, std::string_view hf) {
    return keys.required_int(gguf, hf, 1, kMaxHeadDim);
  };
  LatentAttentionConfig a;
  RZ_TRY(a.n_heads, keys.required_int("attention.head_count", keys.spec().hf_keys.n_heads, 1, kMaxHeads));
  // llama.cpp, LLM_ARCH_DEEPSEEK2: files without a low rank of queries have different values, so the tensors decide.
  if (has_role(keys, Role::kWqA) || !knows_role(keys.spec(), Role::kWq)) {
    RZ_TRY(a.q_rank, keys.required_int("attention.q_lora_rank", "q_lora_rank", 1, kMaxWidth));
  }
  RZ_TRY(a.latent_dim, dim("attention.kv_lora_rank", "kv_lora_rank"));
  RZ_TRY(a.n_rot, dim("rope.dimension_count", "qk_rope_head_dim"));
  if (keys.is_gguf()) {
    const bool is_split = keys.file().metadata().contains(keys.key("attention.key_length_mla", ""));
    RZ_TRY(const uint32_t key_dim, dim(is_split ? "attention.key_length_mla" : "attention.key_length", ""));
    RZ_TRY(const auto d_value,
           keys.optional_int(is_split ? "attention.value_length_mla" : "attention.value_length", "", 1, kMaxHeadDim));
    a.d_value = d_value.value_or(c.d_model / a.n_heads);  // as llama.cpp has it where no file tells
    a.is_interleaved = keys.spec().has_gguf_pairs();
    a.d_nope = key_dim > a.n_rot ? key_dim - a.n_rot : 0;
  } else {
    RZ_TRY(a.d_nope, dim("", "qk_nope_head_dim"));
    RZ_TRY(a.d_value, dim("", "v_head_dim"));
  }
  if (a.d_nope == 0 || a.n_rot % 2 != 0 || a.key_dim() > kMaxHeadDim) {
    return out_of_range(
        keys.file(), keys.key("rope.dimension_count", "qk_rope_head_dim"),
        fmt::format("an even number below the head's dimensions, at most {} with the latent", kMaxHeadDim),
        std::to_string(a.n_rot));
  }
  RZ_TRY(const double magnitude, read_yarn_magnitude(keys));
  a.scale = static_cast<float>(magnitude * magnitude / std::sqrt(a.d_nope + a.n_rot));
  a.rope_idx = 0;
  if (!keys.is_gguf()) {
    RZ_TRY(const auto is_interleaved, keys.file().metadata().get_bool("rope_interleave"));
    a.is_interleaved = is_interleaved.value_or(keys.spec().has_hf_pairs());
  }
  return a;
}

// Its steps are as long as the file says, or as the context before it was stretched.
template <class Attention>
Status read_temperature(const ConfigKeys& keys, const ModelConfig& c, Attention& attention) {
  RZ_TRY(const auto temperature, read_scale(keys, c, keys.spec().temperature));
  if (!temperature) return {};
  attention.temperature = *temperature;
  RZ_TRY(const auto length, keys.optional_int("attention.temperature_length", "", 1, kMaxContext));
  RZ_TRY(const auto step, keys.optional_int("rope.scaling.original_context_length",
                                            "rope_parameters.original_max_position_embeddings", 1, kMaxContext));
  attention.temperature_step = length.value_or(step.value_or(c.n_ctx_train));
  return {};
}

Status read_attention_scales(const ConfigKeys& keys, const ModelConfig& c, AttentionConfig& attention) {
  RZ_CHECK_OK(read_temperature(keys, c, attention));
  RZ_TRY(const auto clip, read_scale(keys, c, keys.spec().clip));
  attention.clip = clip.value_or(0);
  RZ_TRY(const auto attn_scale, read_scale(keys, c, keys.spec().attn_scale));
  RZ_TRY(const auto attn_dims, keys.optional_positive("", keys.spec().hf_keys.attn_dims));
  const double divisor = std::sqrt(attn_dims.value_or(attention.head_dim));
  attention.scale = attn_scale.value_or(static_cast<float>(1 / divisor));
  const ArchSpec& spec = keys.spec();
  RZ_TRY(const auto alibi, read_scale(keys, c, spec.alibi));
  attention.alibi = alibi.value_or(0);
  if (spec.needs_alibi() && attention.alibi == 0) {
    const std::string key = keys.key(spec.alibi.gguf, spec.alibi.hf);
    return unsupported(fmt::format("{}: {} of 0 is not supported for {}", keys.file().path().string(), key, spec.name),
                       key);
  }
  RZ_TRY(attention.softcap, read_softcap(keys, "attn_logit_softcapping"));
  return {};
}

}  // namespace

Result<AttentionConfig> read_attention(const ConfigKeys& keys, ModelConfig& c) {
  RZ_TRY(AttentionConfig attention, read_heads(keys, c));
  RZ_CHECK_OK(read_attention_scales(keys, c, attention));
  if (c.learned_positions || attention.alibi > 0) return attention;
  RZ_TRY(c.ropes, read_ropes(keys, attention.head_dim, c.n_ctx_train, c.n_ctx));
  // Sections of a rotation are stored as halves in GGUF.
  const bool has_sections = keys.file().metadata().contains(keys.key("rope.dimension_sections", ""));
  const bool is_interleaved =
      keys.is_gguf() ? keys.spec().has_gguf_pairs() && !has_sections : keys.spec().has_hf_pairs();
  if (is_interleaved) attention.n_interleaved = c.ropes.front().n_rot;
  return attention;
}

Result<LatentAttentionConfig> read_latent_attention(const ConfigKeys& keys, ModelConfig& c) {
  RZ_TRY(LatentAttentionConfig latent, read_latents(keys, c));
  RZ_CHECK_OK(read_temperature(keys, c, latent));
  if (keys.spec().nope_interval == 1) {
    latent.rope_idx = kNoRope;
    return latent;
  }
  RZ_TRY(c.ropes, read_ropes(keys, latent.n_rot, c.n_ctx_train, c.n_ctx));
  return latent;
}

Status set_attention_layers(const ConfigKeys& keys, ModelConfig& c) {
  RZ_TRY(const auto windows, read_windows(keys, c.n_layers));
  RZ_TRY(const auto has_rope, read_rope_layers(keys, c.n_layers));
  const auto n_ropes = static_cast<uint32_t>(c.ropes.size());
  const bool has_windows = std::ranges::any_of(windows, [](uint32_t window) { return window > 0; });
  const bool full_lacks_rope = keys.spec().full_lacks_rope && has_windows;
  for (uint32_t i = 0; i < c.n_layers; ++i) {
    auto* own = std::get_if<AttentionConfig>(&c.layers[i].mixer);
    if (own == nullptr) continue;
    own->window = windows[i];
    const bool turns = has_rope[i] && !(full_lacks_rope && own->window == 0);
    if (turns && n_ropes > 0) own->rope_idx = own->window > 0 ? n_ropes - 1 : 0;
  }
  return {};
}

Status check_heads(const ConfigKeys& keys, const ModelConfig& c) {
  const HfKeys& hf = keys.spec().hf_keys;
  RZ_CHECK_OK(check_listed_heads(keys, c, "attention.head_count", hf.n_heads, &AttentionConfig::n_heads));
  return check_listed_heads(keys, c, "attention.head_count_kv", hf.n_kv_heads, &AttentionConfig::n_kv_heads);
}

}  // namespace realizar
