#include "model/config_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "backend/ops.h"
#include "base/try.h"
#include "formats/gguf_kind.h"
#include "model/arch/list.h"

namespace realizar {
namespace {

constexpr uint32_t kMaxDefaultContext = 8192;

std::string known_architectures() {
  std::string names;
  std::string_view last;
  for (const ArchSpec* spec : all_architectures()) {
    if (spec->name == last) continue;
    last = spec->name;
    names += (names.empty() ? "" : ", ") + std::string(spec->name);
    for (const std::string_view hf_class : spec->hf_classes) names += fmt::format(" ({})", hf_class);
  }
  return names;
}

// "Qwen2" for Qwen2ForCausalLM and Qwen2Model.
std::string_view stem_of(std::string_view hf_class) {
  for (const std::string_view end :
       {"ForCausalLM", "LMHeadModel", "ForMaskedLM", "ForConditionalGeneration", "Model"}) {
    if (hf_class.ends_with(end)) return hf_class.substr(0, hf_class.size() - end.size());
  }
  return hf_class;
}

// Normalizes stems and model_types, for example "GPTNeoX" and "gpt_neox".
std::string plain_stem(std::string_view stem) {
  std::string plain;
  for (const char c : stem) {
    if (c == '_' || c == '-') continue;
    plain += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return plain;
}

std::string class_of(const ModelFile& file) {
  const auto names = file.metadata().get_strings("architectures");
  return names.ok() && *names && !(*names)->empty() ? std::string((*names)->front()) : "";
}

bool lists(const ArchSpec& spec, std::string_view hf_class) {
  return std::ranges::find(spec.hf_classes, hf_class) != spec.hf_classes.end();
}

// Whether the file's class is the architecture's model without a head.
bool is_bare_class(const ModelFile& file, const ArchSpec& spec) {
  const std::string own = class_of(file);
  return own.ends_with("Model") && !lists(spec, own);
}

// Matches a folder whose class is not listed, by the class's stem or, without a class, by model_type.
bool is_of_family(const ArchSpec& spec, std::string_view hf_class, std::string_view model_type) {
  return std::ranges::any_of(spec.hf_classes, [&](std::string_view own) {
    if (hf_class.empty()) return !model_type.empty() && plain_stem(stem_of(own)) == plain_stem(model_type);
    return hf_class.ends_with("Model") && stem_of(own) == stem_of(hf_class);
  });
}

// `name`: GGUF's or Hugging Face's.
bool is_encoder_decoder(std::string_view name) {
  constexpr std::string_view kNames[] = {"t5",
                                         "t5encoder",
                                         "T5Model",
                                         "T5ForConditionalGeneration",
                                         "T5EncoderModel",
                                         "MT5ForConditionalGeneration",
                                         "UMT5ForConditionalGeneration",
                                         "BartForConditionalGeneration",
                                         "MBartForConditionalGeneration",
                                         "MarianMTModel",
                                         "PegasusForConditionalGeneration"};
  return std::ranges::find(kNames, name) != std::end(kNames);
}

Status read_dimensions(const ConfigKeys& keys, ModelConfig& c) {
  const HfKeys& hf = keys.spec().hf_keys;
  RZ_TRY(c.n_layers, keys.required_int("block_count", hf.n_layers, 1, kMaxLayers));
  // GGUF's count includes the extra layers that predict further tokens; config.json's does not.
  RZ_TRY(const uint32_t n_extra, read_n_extra_layers(keys));
  if (keys.is_gguf() && n_extra > 0) {
    if (n_extra >= c.n_layers) {
      return out_of_range(keys.file(), keys.key("nextn_predict_layers", ""),
                          fmt::format("fewer than {} layers", c.n_layers), std::to_string(n_extra));
    }
    c.n_layers -= n_extra;
  }
  RZ_TRY(c.d_model, keys.required_int("embedding_length", hf.d_model, 1, kMaxWidth));
  RZ_TRY(c.n_ctx_train, read_n_ctx_train(keys));
  if (keys.spec().ffn == FfnKind::kNone) return {};
  const int64_t least = keys.spec().may_lack_ffns() ? 0 : 1;
  RZ_TRY(const auto d_ffs, keys.layer_ints("feed_forward_length", hf.d_ff, c.n_layers, least, kMaxWidth));
  const uint32_t own_factor = keys.is_gguf() ? 0 : hf.d_ff_factor;
  if (!d_ffs && own_factor == 0) {
    return out_of_range(keys.file(), keys.key("feed_forward_length", hf.d_ff), "a whole number", "nothing");
  }
  const std::vector<uint32_t> widths = d_ffs.value_or(std::vector<uint32_t>{own_factor * c.d_model});
  c.d_ff = std::ranges::max(widths);
  return {};
}

bool reads_scale(const ArchSpec& spec, std::string_view key) {
  const ScaleKey* const scales[] = {&spec.embed_scale, &spec.residual_scale, &spec.attn_scale, &spec.logit_scale,
                                    &spec.clip,        &spec.temperature,    &spec.alibi};
  return std::ranges::any_of(scales, [key](const ScaleKey* scale) { return scale->gguf == key; });
}

Status refuse_hf_traits(const ConfigKeys& keys) {
  for (const HfFlag& flag : keys.spec().hf_flags) {
    RZ_TRY(const auto value, keys.file().metadata().get_bool(flag.key));
    const bool is_on = value.value_or(flag.is_required ? !flag.value : flag.value);
    if (is_on == flag.value) continue;
    return unsupported(fmt::format("{}: {} = {} is not supported for {}", keys.file().path().string(), flag.key, is_on,
                                   keys.spec().name),
                       std::string(flag.key));
  }
  for (const HfNumber& number : keys.spec().hf_numbers) {
    RZ_TRY(const auto value, keys.file().metadata().get_double(number.key));
    if (value.value_or(number.value) == number.value || (value && value == number.also)) continue;
    return unsupported(fmt::format("{}: {} = {} is not supported for {}", keys.file().path().string(), number.key,
                                   *value, keys.spec().name),
                       std::string(number.key));
  }
  constexpr std::string_view kBidirectional = "use_bidirectional_attention";
  RZ_TRY(const auto is_bidirectional, keys.file().metadata().get_bool(kBidirectional));
  if (!is_bidirectional.value_or(false) || keys.spec().is_bidirectional) return {};
  return unsupported(fmt::format("{}: {} = true is not supported", keys.file().path().string(), kBidirectional),
                     std::string(kBidirectional));
}

// Converters write some keys with neutral values, which are accepted (0 means "not set" in llama.cpp).
Status refuse_gguf_traits(const ConfigKeys& keys) {
  struct Neutral {
    std::string_view key;
    double also;  // accepted in addition to 0
  };
  std::vector<Neutral> neutrals{{"logit_scale", 1},
                                {"embedding_scale", 1},
                                {"residual_scale", 1},
                                {"attention.scale", 0},
                                {"attention.clamp_kqv", 0},
                                {"attention.max_alibi_bias", 0},
                                {"attention.temperature_scale", 0},
                                {"altup.active_idx", 0}};
  RZ_TRY(const uint32_t n_experts, read_n_experts(keys));
  if (n_experts == 0) {
    neutrals.insert(neutrals.end(), {{"expert_weights_scale", 1},
                                     {"expert_gating_func", 1},
                                     {"expert_shared_count", 0},
                                     {"expert_group_count", 1},
                                     {"expert_count", 0}});
  }
  if (!knows_role(keys.spec(), Role::kExpertLatentUp)) neutrals.push_back({"moe_latent_size", 0});
  if (!keys.spec().has_leading_dense()) neutrals.push_back({"leading_dense_block_count", 0});
  if (!keys.spec().has_expert_interval()) neutrals.push_back({"interleave_moe_layer_step", 1});
  for (const Neutral& neutral : neutrals) {
    if (reads_scale(keys.spec(), neutral.key)) continue;
    const std::string key = keys.key(neutral.key, "");
    RZ_TRY(const auto value, keys.file().metadata().get_double(key));
    if (value.value_or(0) == 0 || *value == neutral.also) continue;
    return unsupported(fmt::format("{}: {} = {} is not supported", keys.file().path().string(), key, *value), key);
  }
  for (const std::string_view name : {"attention.causal", "expert_weights_norm"}) {
    if (n_experts > 0 && name == "expert_weights_norm") continue;
    if (keys.spec().is_bidirectional && name == "attention.causal") continue;
    const std::string key = keys.key(name, "");
    RZ_TRY(const auto value, keys.file().metadata().get_bool(key));
    if (value.value_or(true)) continue;
    return unsupported(fmt::format("{}: {} = false is not supported", keys.file().path().string(), key), key);
  }
  return {};
}

Result<NormPlace> read_norm_place(const ConfigKeys& keys) {
  const ArchSpec& spec = keys.spec();
  // Without its own norm the ffn reads the mixer's input.
  const bool lacks_norm = is_optional(spec, Role::kFfnNorm) && !has_role(keys, Role::kFfnNorm);
  return spec.norm_place == NormPlace::kPre && lacks_norm ? NormPlace::kParallel : spec.norm_place;
}

double by_rule(ScaleRule rule, double number, const ModelConfig& c) {
  switch (rule) {
    case ScaleRule::kAsIs:
      return number;
    case ScaleRule::kByRootOfLayers:
      return number / std::sqrt(static_cast<double>(c.n_layers));
    case ScaleRule::kByWidth:
      return number / c.d_model;
    case ScaleRule::kTimesRootOfWidth:
      return number * std::sqrt(static_cast<float>(c.d_model));
  }
  return number;
}

// config.json's number: the value of the current key times its second factor, or the value of the older key.
Result<std::optional<double>> read_product(const ConfigKeys& keys, const ScaleKey& scale, std::optional<double> first) {
  const Metadata& metadata = keys.file().metadata();
  if (!first) return metadata.get_double(scale.hf_older);
  if (scale.hf_times.empty()) return first;
  RZ_TRY(const auto times, metadata.get_double(scale.hf_times));
  return std::optional(*first * times.value_or(1));
}

Result<float> read_norm_eps(const ConfigKeys& keys) {
  const ArchSpec& spec = keys.spec();
  const std::string_view gguf =
      spec.norm == NormKind::kRms ? "attention.layer_norm_rms_epsilon" : "attention.layer_norm_epsilon";
  RZ_TRY(const auto given, keys.optional_positive(gguf, spec.hf_keys.norm_eps));
  if (given) return static_cast<float>(*given);
  if (!keys.is_gguf() && spec.hf_norm_eps > 0) return spec.hf_norm_eps;
  return out_of_range(keys.file(), keys.key(gguf, spec.hf_keys.norm_eps), "a finite number above 0", "nothing");
}

Status read_model_scales(const ConfigKeys& keys, ModelConfig& c) {
  const ArchSpec& spec = keys.spec();
  RZ_TRY(c.norm_eps, read_norm_eps(keys));
  RZ_TRY(const auto embed_scale, read_scale(keys, c, spec.embed_scale));
  c.embed_scale = embed_scale.value_or(1);
  RZ_TRY(const auto residual_scale, read_scale(keys, c, spec.residual_scale));
  c.residual_scale = residual_scale.value_or(1);
  RZ_TRY(const auto logit_scale, read_scale(keys, c, spec.logit_scale));
  c.logit_scale = logit_scale.value_or(1);
  RZ_TRY(c.final_softcap, read_softcap(keys, "final_logit_softcapping"));
  return {};
}

// The common config of a kind's layers.
Result<MixerConfig> read_mixer(const ConfigKeys& keys, MixerKind kind, ModelConfig& c) {
  const auto as_mixer = [](const auto& result) -> Result<MixerConfig> {
    RZ_TRY(const auto config, result);
    return MixerConfig(config);
  };
  switch (kind) {
    case MixerKind::kLatentAttention:
      return as_mixer(read_latent_attention(keys, c));
    case MixerKind::kMamba:
      return as_mixer(read_mamba(keys, c));
    case MixerKind::kMamba2:
      return as_mixer(read_mamba2(keys));
    case MixerKind::kDeltaNet:
      return as_mixer(read_delta_net(keys));
    case MixerKind::kKimiDelta:
      return as_mixer(read_kimi_delta(keys));
    case MixerKind::kShortConv:
      return as_mixer(read_short_conv(keys, c));
    case MixerKind::kRwkv7:
      return as_mixer(read_rwkv7(keys, c));
    case MixerKind::kNone:
      return MixerConfig(NoMixerConfig{});
    case MixerKind::kAttention:
      break;
  }
  return as_mixer(read_attention(keys, c));
}

Status read_layers(const ConfigKeys& keys, ModelConfig& c) {
  RZ_TRY(const auto ffns, read_ffns(keys, c));
  RZ_TRY(const auto kinds, read_mixer_kinds(keys, c.n_layers));
  RZ_TRY(const NormPlace norm_place, read_norm_place(keys));
  std::map<MixerKind, MixerConfig> mixers;
  for (uint32_t i = 0; i < c.n_layers; ++i) {
    if (!mixers.contains(kinds[i])) {
      RZ_TRY(mixers[kinds[i]], read_mixer(keys, kinds[i], c));
    }
    c.layers.push_back({norm_place, mixers[kinds[i]], ffns[i]});
    c.layers[i].has_mixer_norm = !is_optional(keys.spec(), Role::kAttnNorm) || has_role(keys, Role::kAttnNorm, i);
  }
  if (auto* first = std::get_if<Rwkv7Config>(&c.layers.front().mixer)) first->is_first = true;
  return mixers.contains(MixerKind::kAttention) ? set_attention_layers(keys, c) : Status();
}

// By the rows of the embedding, which every file has.
Result<uint32_t> read_n_vocab(const ConfigKeys& keys) {
  std::string_view name;
  const TensorInfo* embed = find_tensor_of(keys, Role::kEmbed, name);
  if (embed == nullptr || embed->shape.size() != 2 || embed->shape[0] > uint64_t{1} << 30) {
    return not_found(fmt::format("{}: tensor '{}' of shape [n_vocab, d_model] {}", keys.file().path().string(), name,
                                 why_missing(keys.file(), name)),
                     std::string(name));
  }
  return static_cast<uint32_t>(embed->shape[0]);
}

// Compares two matrices of one shape; plain types are compared by value. Releases the pages of `b`.
Result<bool> are_equal(const ModelFile& file, const TensorInfo& a, const TensorInfo& b) {
  if (a.packed != nullptr || b.packed != nullptr) return false;
  if (a.type == b.type) {
    const bool are = std::ranges::equal(a.data, b.data);
    file.release(b.data);
    return are;
  }
  if (traits(a.type).block_elems != 1 || traits(b.type).block_elems != 1) return false;
  const uint64_t n_cols = a.shape.back();
  const size_t a_bytes = row_bytes(traits(a.type), n_cols), b_bytes = row_bytes(traits(b.type), n_cols);
  std::vector<float> a_row(n_cols), b_row(n_cols);
  for (uint64_t row = 0; row < a.shape.front(); ++row) {
    traits(a.type).decode(a.data.data() + row * a_bytes, a_row.data(), n_cols);
    traits(b.type).decode(b.data.data() + row * b_bytes, b_row.data(), n_cols);
    if (a_row != b_row) return false;
  }
  file.release(b.data);
  return true;
}

// Whether a folder has the class of a model without a head ("MistralModel") and the head is not tied.
bool lacks_head(const ConfigKeys& keys) {
  if (keys.is_gguf() || keys.spec().is_bidirectional || !is_bare_class(keys.file(), keys.spec())) return false;
  std::string_view name;
  if (find_tensor_of(keys, Role::kHead, name) != nullptr) return false;
  const auto said = keys.file().metadata().get_bool("tie_word_embeddings");
  return !said.ok() || !said->value_or(false);
}

// In GGUF a missing head is tied. config.json has a key; the folder may contain a copy of the embedding as its head,
// and if that differs, the key is wrong and the head is used. Without the key, a missing head is tied. Encoders have no
// head.
Result<bool> read_is_head_tied(const ConfigKeys& keys) {
  if (keys.spec().is_bidirectional) return false;
  std::optional<bool> said;
  if (!keys.is_gguf()) {
    RZ_TRY(said, keys.file().metadata().get_bool("tie_word_embeddings"));
  }
  std::string_view name;
  const TensorInfo* head = find_tensor_of(keys, Role::kHead, name);
  if (!said) return head == nullptr;
  if (!*said || head == nullptr) return *said || lacks_head(keys);
  std::string_view embed_name;
  const TensorInfo* embed = find_tensor_of(keys, Role::kEmbed, embed_name);
  // The binder reports a head of another shape.
  if (embed == nullptr || embed->data.empty() || head->data.empty() || !std::ranges::equal(head->shape, embed->shape))
    return true;
  return are_equal(keys.file(), *embed, *head);
}

}  // namespace

Result<const ArchSpec*> find_architecture(const ModelFile& file) {
  const bool is_gguf = file.format() == FileFormat::kGguf;
  std::string asked;
  if (is_gguf) {
    const bool is_vocabulary = file.tensors().empty() && file.metadata().contains("tokenizer.ggml.tokens");
    const GgufKind kind = gguf_kind(file.metadata(), !is_vocabulary);
    if (kind != GgufKind::kModel) {
      return unsupported(fmt::format("{}: this is {}", file.path().string(), kind_advice(kind)), file.path().string());
    }
    RZ_TRY(const auto name, file.metadata().get_string("general.architecture"));
    asked = name.value_or("");
  } else {
    RZ_CHECK_OK(file.metadata().get_strings("architectures"));
    asked = class_of(file);
  }
  RZ_TRY(const auto model_type, file.metadata().get_string("model_type"));
  if (asked.empty() && (is_gguf || !model_type)) {
    return format_error(
        fmt::format("{}: {} is missing", file.path().string(), is_gguf ? "general.architecture" : "architectures"));
  }
  const auto find_where = [&](const auto& fits) -> const ArchSpec* {
    for (const ArchSpec* spec : all_architectures()) {
      const std::string_view marker = is_gguf ? spec->marker.gguf : spec->marker.hf;
      if (!marker.empty() && find_tensor(file, marker) == nullptr) continue;
      if (fits(*spec)) return spec;
    }
    return nullptr;
  };
  const ArchSpec* found =
      find_where([&](const ArchSpec& spec) { return is_gguf ? spec.name == asked : lists(spec, asked); });
  if (found == nullptr && !is_gguf) {
    found = find_where([&](const ArchSpec& spec) { return is_of_family(spec, asked, model_type.value_or("")); });
  }
  if (found != nullptr) return found;
  if (asked.empty()) asked = *model_type;
  if (is_encoder_decoder(asked)) {
    return unsupported(
        fmt::format("{}: '{}' is an encoder-decoder model, which is not supported; decoders and encoders are",
                    file.path().string(), asked),
        asked);
  }
  return unsupported(fmt::format("{}: architecture '{}' is not supported; supported are {}", file.path().string(),
                                 asked, known_architectures()),
                     asked);
}

Result<float> read_softcap(const ConfigKeys& keys, std::string_view key) {
  const auto need = keys.spec().softcaps;
  if (!need) return 0.0f;
  RZ_TRY(const auto softcap, keys.optional_positive(key, key));
  if (!softcap && need == Need::kRequired) {
    return out_of_range(keys.file(), keys.key(key, key), "a finite number above 0", "nothing");
  }
  return static_cast<float>(softcap.value_or(0));
}

Result<std::optional<float>> read_scale(const ConfigKeys& keys, const ModelConfig& c, const ScaleKey& scale) {
  const std::string key = keys.key(scale.gguf, scale.hf);
  std::optional<double> value;
  if (!key.empty()) {
    RZ_TRY(value, keys.file().metadata().get_double(key));
  }
  if (!keys.is_gguf() && !scale.hf_older.empty()) {
    RZ_TRY(value, read_product(keys, scale, value));
  }
  const bool is_set = keys.is_gguf() ? value.value_or(0) != 0 : value.has_value();
  const float fallback = keys.is_gguf() ? scale.gguf_otherwise : scale.hf_otherwise;
  if (!is_set) {
    const bool has_none = fallback == 1 && scale.hf_rule != ScaleRule::kTimesRootOfWidth;
    return has_none ? std::optional<float>() : std::optional(float(by_rule(scale.hf_rule, fallback, c)));
  }
  const bool divides = keys.is_gguf() ? scale.gguf_divides : scale.hf_divides;
  const double number = keys.is_gguf() ? *value : by_rule(scale.hf_rule, *value, c);
  const auto factor = static_cast<float>(divides ? 1 / number : number);
  if (std::isfinite(factor) && factor > 0) return std::optional(factor);
  return out_of_range(keys.file(), key, "a finite number above 0", fmt::format("{}", *value));
}

Result<uint32_t> read_n_extra_layers(const ConfigKeys& keys) {
  RZ_TRY(const auto n_extra, keys.optional_int("nextn_predict_layers", "num_nextn_predict_layers", 0, kMaxLayers));
  return n_extra.value_or(0);
}

std::string untied_head_note(const ModelFile& file, const ModelConfig& config) {
  if (file.format() == FileFormat::kGguf || config.is_head_tied) return "";
  const auto said = file.metadata().get_bool("tie_word_embeddings");
  if (!said.ok() || !said->value_or(false) || config.is_bidirectional) return "";
  return "config.json says tie_word_embeddings, but the head in the file differs from the embeddings and is used";
}

Result<uint32_t> read_n_ctx_train(const ConfigKeys& keys) {
  const std::string_view hf = keys.spec().hf_keys.n_ctx;
  RZ_TRY(const auto given, keys.optional_int("context_length", hf, 1, kMaxContext));
  const uint32_t own_n_ctx = keys.is_gguf() ? 0 : keys.spec().hf_n_ctx;
  if (!given && own_n_ctx == 0) {
    return out_of_range(keys.file(), keys.key("context_length", hf), "a whole number", "nothing");
  }
  const uint32_t n_ctx = given.value_or(own_n_ctx);
  const uint32_t n_skipped = keys.is_gguf() ? 0 : keys.spec().hf_keys.n_skipped_positions;
  if (n_ctx > n_skipped) return n_ctx - n_skipped;
  return out_of_range(keys.file(), keys.key("context_length", hf), fmt::format("more than {}", n_skipped),
                      std::to_string(n_ctx));
}

Result<uint32_t> longest_context(const ModelFile& file, const ModelConfig& config, const RopeSettings& rope) {
  if (config.learned_positions) return config.n_ctx_train;
  RZ_TRY(const ArchSpec* spec, find_architecture(file));
  RZ_TRY(const RopeScaling scaling, read_rope_scaling(ConfigKeys(file, *spec, rope)));
  const bool is_replaced = rope.scaling != RopeStretch::kModel;
  if (rope.scaling == RopeStretch::kNone && scaling.n_ctx_old) {
    return std::min(config.n_ctx_train, static_cast<uint32_t>(*scaling.n_ctx_old));
  }
  const double n_ctx_old = scaling.n_ctx_old.value_or(config.n_ctx_train);
  const bool starts_from_trained = !is_replaced && (scaling.kind == "linear" || scaling.kind == "dynamic");
  const double from = starts_from_trained ? config.n_ctx_train : is_replaced || scaling.kind == "yarn" ? n_ctx_old : 0;
  const double stretched = std::min(from * scaling.factor, static_cast<double>(kMaxContext));
  return std::max(config.n_ctx_train, static_cast<uint32_t>(stretched));
}

Result<ModelConfig> read_config(const ModelFile& file, const ModelOptions& options) {
  RZ_CHECK_OK(check_rope_settings(options.rope));
  RZ_TRY(const ArchSpec* spec, find_architecture(file));
  const ConfigKeys keys(file, *spec, options.rope);
  const bool is_rescaled = options.rope.scaling != RopeStretch::kModel;
  ModelConfig c;
  c.arch = spec->name;
  RZ_TRY(const auto name, file.metadata().get_string(keys.is_gguf() ? "general.name" : "_name_or_path"));
  c.name = name.value_or("");
  c.norm = spec->norm;
  c.learned_positions = knows_role(*spec, Role::kPositionEmbed);
  // Keys that change the computation in ways that the architecture does not have.
  RZ_CHECK_OK(keys.is_gguf() ? refuse_gguf_traits(keys) : refuse_hf_traits(keys));
  RZ_CHECK_OK(read_dimensions(keys, c));
  uint32_t n_ctx_longest = c.n_ctx_train;
  if (is_rescaled) {
    RZ_TRY(n_ctx_longest, longest_context(file, c, options.rope));
  }
  c.n_ctx = options.n_ctx > 0 ? options.n_ctx : std::min(n_ctx_longest, kMaxDefaultContext);
  RZ_CHECK_OK(read_model_scales(keys, c));
  RZ_TRY(c.n_vocab, read_n_vocab(keys));
  c.layer_table.n_vocab = c.n_vocab;
  RZ_TRY(c.is_head_tied, read_is_head_tied(keys));
  c.lacks_head = lacks_head(keys);
  RZ_CHECK_OK(read_pooling(keys, c));
  RZ_TRY(c.n_types, read_n_types(keys));
  RZ_TRY(c.n_dense, read_n_dense(keys));
  RZ_CHECK_OK(read_layers(keys, c));
  if (spec->adjust != nullptr) RZ_CHECK_OK(spec->adjust(keys, c));
  RZ_CHECK_OK(check_heads(keys, c));
  if (is_rescaled && c.ropes.empty()) {
    return invalid_argument(fmt::format("rope_scaling: {} has no rotary embedding to scale", file.path().string()),
                            "rope_scaling");
  }
  return c;
}

}  // namespace realizar
