// Plans a folder's tensors under GGUF's names, in GGUF's order, and the metadata of the GGUF file.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/try.h"
#include "formats/end_claims.h"
#include "formats/hf_config.h"
#include "formats/tokenizer_files.h"
#include "model/arch/list.h"
#include "model/config_reader.h"
#include "model/tensor_roles.h"
#include "tools/conversion.h"
#include "tools/folder_files.h"
#include "tools/folder_vocab.h"
#include "tools/general_keys.h"
#include "tools/generation_keys.h"
#include "tools/gguf_config.h"
#include "tools/tensor_parts.h"
#include "tools/weave.h"

namespace realizar {
namespace {

// Vectors up to this size are kept for a file that is only described: a model's config reads no larger ones.
constexpr uint64_t kMostDescribed = 1 << 16;

// The table's rows that are for folders only, and GGUF's names for their models.
std::string_view gguf_name(const ArchSpec& spec, const ModelConfig& config) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {{"chatglm2", "chatglm"},
                                                                      {"xlm-roberta", "bert"},
                                                                      {"xlm-roberta-flash", "jina-bert-v3"},
                                                                      {"bamba", "granitehybrid"},
                                                                      {"grok-1", "grok"}};
  for (const auto& [name, own] : kNames) {
    if (spec.name == name) return own;
  }
  const bool has_experts = std::ranges::any_of(
      config.layers, [](const LayerConfig& layer) { return std::holds_alternative<ExpertsConfig>(layer.ffn); });
  return spec.name == "nemotron_h" && has_experts ? "nemotron_h_moe" : spec.name;
}

// The last of its rows has no marker, and has the names that all of them share.
const ArchSpec& gguf_spec(const ArchSpec& spec, const ModelConfig& config) {
  const std::string_view name = gguf_name(spec, config);
  if (name == spec.name) return spec;
  const ArchSpec* found = &spec;
  for (const ArchSpec* other : all_architectures()) {
    if (other->name == name) found = other;
  }
  return *found;
}

bool is_always_f32(const TensorSpec& spec) {
  constexpr Role kRoles[] = {Role::kRouter,       Role::kSharedRouter, Role::kPositionEmbed, Role::kTypeEmbed,
                             Role::kSsmConv,      Role::kConvQ,        Role::kConvK,         Role::kConvV,
                             Role::kShifts,       Role::kDecayLow,     Role::kDeltaDecay,    Role::kAltUpPredict,
                             Role::kAltUpCorrect, Role::kAltUpRouter};
  const bool is_small = spec.role == Role::kDeltaDecay && spec.cols != Dim::kDecayRank;
  const bool is_weight = spec.gguf.ends_with(".weight") && !spec.gguf.ends_with("_norm.weight");
  return spec.cols == Dim::kNone || !is_weight ||
         (!is_small && std::ranges::find(kRoles, spec.role) != std::end(kRoles));
}

class GgufTensors {
 public:
  GgufTensors(const ArchSpec& spec, const ModelConfig& config, TensorParts& parts, std::vector<PlannedTensor>& out)
      : spec_(spec), config_(config), parts_(parts), out_(out) {}

  Status add() {
    for (const TensorSpec& spec : spec_.tensors) {
      if (!is_written(spec)) continue;
      const uint32_t n = n_placeholders(spec.gguf) == 0 ? 1 : n_file_layers(config_);
      for (uint32_t layer = 0; layer < n; ++layer) {
        RZ_CHECK_OK(add_tensor(spec, n_placeholders(spec.gguf) == 0 ? -1 : static_cast<int32_t>(layer)));
      }
    }
    return {};
  }

 private:
  bool is_named(Role role) const {
    return std::ranges::any_of(spec_.tensors, [&](const TensorSpec& t) { return t.role == role && !t.gguf.empty(); });
  }
  // GGUF files use the first of a role's names; and the parts of fused tensors, if these have names.
  bool is_written(const TensorSpec& spec) const {
    constexpr Role kOfConfig[] = {Role::kIgnored, Role::kRopeFactors, Role::kRopeShort, Role::kRopeLong};
    if (spec.gguf.empty() || std::ranges::find(kOfConfig, spec.role) != std::end(kOfConfig)) return false;
    if (spec.role == Role::kHead && config_.is_head_tied) return false;
    const bool is_of_scores = spec.role == Role::kPooler || spec.role == Role::kPoolerBias;
    if (is_of_scores && config_.n_labels == 0) return false;
    const auto first = std::ranges::find_if(
        spec_.tensors, [&](const TensorSpec& t) { return t.role == spec.role && !t.gguf.empty(); });
    if (&*first != &spec) return false;
    return std::ranges::none_of(fusions(), [&](const Fusion& fusion) {
      return fusion.whole == spec.role && std::ranges::all_of(fusion.parts, [&](Role role) { return is_named(role); });
    });
  }

  Status add_tensor(const TensorSpec& spec, int32_t layer) {
    if (const auto twin = unused_twin(config_, spec.role, layer)) return add_copy(spec, {*twin, layer});
    const Part part{spec.role, layer};
    if (!parts_.has(part)) return {};
    RZ_TRY(MatrixRows rows,
           rows_of_whole(parts_, spec, part, spec_, config_, false, [&](const Part& own) { return parts_.rows(own); }));
    std::vector<uint64_t> shape{parts_.size_of(part, spec.rows)};
    if (spec.cols != Dim::kNone) shape.push_back(parts_.size_of(part, spec.cols));
    if (stack_dim(spec.role) != Dim::kNone) shape.insert(shape.begin(), parts_.size_of(part, stack_dim(spec.role)));
    if (spec.rows == Dim::kCtx) shape[0] = config_.n_ctx_train;
    add_ones(spec.role, shape);
    uint64_t n_elems = 1;
    for (const uint64_t size : shape) n_elems *= size;
    const std::string name = filled_name(spec.gguf, static_cast<uint32_t>(std::max(layer, 0)), 0);
    if (n_elems != rows->n_rows() * rows->n_cols()) {
      return format_error(fmt::format("tensor '{}' of shape [{}]: the folder has {} elements for it", name,
                                      fmt::join(shape, ", "), rows->n_rows() * rows->n_cols()),
                          name);
    }
    out_.push_back({name, std::move(shape), std::move(rows), is_always_f32(spec)});
    return add_factors(part, name);
  }

  // llama.cpp also checks the dimensions of 1.
  static void add_ones(Role role, std::vector<uint64_t>& shape) {
    const bool is_conv = role == Role::kConvQ || role == Role::kConvK || role == Role::kConvV;
    if (is_conv && shape.size() == 2) shape = {1, shape[0], 1, shape[1]};
    if (role == Role::kShifts && shape.size() == 2) shape = {shape[0], 1, 1, shape[1]};
  }

  // For RWKV-7's first layer llama.cpp expects a tensor that it does not use: a copy of another one.
  Status add_copy(const TensorSpec& spec, const Part& of) {
    const auto own = std::ranges::find(spec_.tensors, of.role, &TensorSpec::role);
    RZ_TRY(MatrixRows rows, parts_.rows(of));
    std::vector<uint64_t> shape{parts_.size_of(of, own->rows)};
    if (own->cols != Dim::kNone) shape.push_back(parts_.size_of(of, own->cols));
    out_.push_back({filled_name(spec.gguf, 0, 0), std::move(shape), std::move(rows), is_always_f32(*own)});
    return {};
  }

  // The factors of NVFP4's matrices, unless they are 1.
  Status add_factors(const Part& part, const std::string& name) {
    if (out_.back().rows->type() != TypeId::kNVFP4) return {};
    auto factors = parts_.factors(part);
    if (!factors || std::ranges::all_of(*factors, [](float factor) { return factor == 1; })) return {};
    const uint64_t n = factors->size();
    out_.push_back({name.substr(0, name.rfind('.')) + ".scale", {n}, given_rows(std::move(*factors), n), true});
    return {};
  }

  const ArchSpec& spec_;
  const ModelConfig& config_;
  TensorParts& parts_;
  std::vector<PlannedTensor>& out_;
};

HfForms::Pairs pairs_of(const ModelFile& folder, const ArchSpec& spec, const ArchSpec& target, const ModelConfig& c) {
  const bool has_sections = !rope_sections(folder.metadata()).empty();
  HfForms::Pairs pairs{.gguf = target.has_gguf_pairs() && !has_sections, .hf = spec.has_hf_pairs()};
  for (const LayerConfig& layer : c.layers) {
    if (const auto* own = std::get_if<LatentAttentionConfig>(&layer.mixer)) pairs.hf = own->is_interleaved;
  }
  return pairs;
}

// Removes the factors that GGUF has no keys for from the config, since they are folded into the weights.
Result<FoldedFactors> fold_factors(const ModelFile& folder, const ArchSpec& spec, ModelConfig& c) {
  FoldedFactors factors;
  if (!spec.embed_scale.hf.empty() && spec.embed_scale.gguf.empty()) factors.embed = std::exchange(c.embed_scale, 1);
  if (!spec.logit_scale.hf.empty() && spec.logit_scale.gguf.empty()) factors.head = std::exchange(c.logit_scale, 1);
  if (c.is_head_tied && (factors.embed != 1 || factors.head != 1)) {
    return unsupported(
        fmt::format("{}: factors on a head that is the embedding are not supported in GGUF", folder.path().string()));
  }
  if (c.n_layers_each == 1) return factors;  // Falcon-H1 has more of them
  const auto number = [&](const char* key) {
    const auto value = folder.metadata().get_double(key);
    return value.ok() ? static_cast<float>(value->value_or(1)) : 1.0f;
  };
  const auto list = [&](const char* key, size_t n) {
    const auto values = folder.metadata().get_doubles(key);
    std::vector<float> all(n, 1.0f);
    if (values.ok() && *values && (*values)->size() == n) std::ranges::copy(**values, all.begin());
    return all;
  };
  const float attn_in = number("attention_in_multiplier");
  factors.wq = factors.wv = attn_in;
  factors.wk = attn_in * number("key_multiplier");
  factors.wo = number("attention_out_multiplier");
  factors.ssm_out = number("ssm_out_multiplier");
  factors.ssm_in = list("ssm_multipliers", 5);
  for (float& factor : factors.ssm_in) factor *= number("ssm_in_multiplier");
  const std::vector<float> ffn = list("mlp_multipliers", 2);
  factors.gate = ffn[0], factors.down = ffn[1];
  for (LayerConfig& layer : c.layers) {
    if (auto* own = std::get_if<AttentionConfig>(&layer.mixer)) {
      own->scale /= factors.wq * factors.wk;
      own->out_scale = 1;
    }
    if (auto* own = std::get_if<Mamba2Config>(&layer.mixer)) own->scales = {};
    if (auto* own = std::get_if<GatedConfig>(&layer.ffn)) own->out_scale = 1;
    layer.ffn_in_scale = 1;
  }
  return factors;
}

// GGUF implies its families' formulas: if a folder uses another form of GELU, of a norm or of routing, the file is
// computed with the family's.
void use_gguf_formulas(const ArchSpec& target, ModelConfig& c, GgufPlan& plan) {
  const auto note = [&](std::string text) {
    if (std::ranges::find(plan.notes, text) == plan.notes.end()) plan.notes.push_back(std::move(text));
  };
  const NormKind norm = target.norm;
  if (c.norm != norm) note("GGUF's models of this family have another kind of norm");
  c.norm = norm;
  for (LayerConfig& layer : c.layers) {
    const auto use_tanh = [&](Activation& activation) {
      if (activation != Activation::kGeluErf || target.activation != Activation::kGelu) return;
      activation = Activation::kGelu;
      note("GGUF's models of this family compute GELU by its tanh form");
    };
    if (auto* own = std::get_if<PlainConfig>(&layer.ffn)) use_tanh(own->activation);
    if (auto* own = std::get_if<GatedConfig>(&layer.ffn)) use_tanh(own->activation);
    auto* experts = std::get_if<ExpertsConfig>(&layer.ffn);
    if (experts == nullptr || experts->score != RouteScore::kSparseMixer) continue;
    experts->score = target.routing.score;
    experts->renormalize = target.routing.renormalize;
    experts->near_share = 0;
    note("GGUF's models of this family choose experts by a softmax, not by SparseMixer's rule");
  }
}

void note_windows(const ArchSpec& target, const ModelConfig& c, GgufPlan& plan) {
  const bool has_window = std::ranges::any_of(c.layers, [](const LayerConfig& layer) {
    const auto* own = std::get_if<AttentionConfig>(&layer.mixer);
    return own != nullptr && own->window > 0;
  });
  if (!has_window || !target.needs_window_flag()) return;
  plan.notes.emplace_back("realizar reads this model's windows from the file; llama.cpp computes its family without");
}

void add_vocab(const FolderVocab& vocab, GgufKeys& keys) {
  const auto set = [&](std::string_view name, GgufValue value) {
    keys.set("tokenizer.ggml." + std::string(name), std::move(value));
  };
  set("model", vocab.model);
  if (!vocab.pre.empty()) set("pre", vocab.pre);
  set("tokens", vocab.tokens);
  if (!vocab.scores.empty()) set("scores", vocab.scores);
  set("token_type", vocab.types);
  if (!vocab.merges.empty()) set("merges", vocab.merges);
  const std::pair<const char*, std::optional<uint32_t>> kIds[] = {
      {"bos_token_id", vocab.bos},     {"eos_token_id", vocab.eos},
      {"eot_token_id", vocab.eot},     {"eom_token_id", vocab.eom},
      {"unknown_token_id", vocab.unk}, {"seperator_token_id", vocab.sep},  // spelled so in GGUF
      {"padding_token_id", vocab.pad}, {"cls_token_id", vocab.cls},
      {"mask_token_id", vocab.mask}};
  for (const auto& [name, id] : kIds) {
    if (id) set(name, *id);
  }
  if (!vocab.end_ids.empty()) keys.set(kEndIdsKey, vocab.end_ids);
  if (!vocab.no_end_ids.empty()) keys.set(kNoEndIdsKey, vocab.no_end_ids);
  if (vocab.add_bos) set("add_bos_token", *vocab.add_bos);
  if (vocab.add_eos) set("add_eos_token", *vocab.add_eos);
  if (vocab.add_sep) set("add_sep_token", *vocab.add_sep);
  if (vocab.lowercase) set("normalizer.lowercase", *vocab.lowercase);
  if (vocab.strip_accents) set("normalizer.strip_accents", *vocab.strip_accents);
  if (vocab.add_space_prefix) set("add_space_prefix", *vocab.add_space_prefix);
  if (vocab.remove_extra_whitespaces) set("remove_extra_whitespaces", *vocab.remove_extra_whitespaces);
  if (!vocab.charsmap.empty()) set("precompiled_charsmap", vocab.charsmap);
}

// The scores' names, which config.json has by their indices.
void add_labels(const ModelFile& folder, const ModelConfig& c, std::string_view arch, GgufKeys& keys) {
  std::vector<std::string> labels;
  for (uint32_t i = 0; i < c.n_labels; ++i) {
    const auto label = folder.metadata().get_string(fmt::format("id2label.{}", i));
    if (label.ok() && *label) labels.push_back(**label);
  }
  // Without names, transformers' default ones: llama.cpp counts the scores by them.
  if (labels.empty() && c.n_labels > 1) {
    for (uint32_t i = 0; i < c.n_labels; ++i) labels.push_back(fmt::format("LABEL_{}", i));
  }
  if (!labels.empty()) keys.set(std::string(arch) + ".classifier.output_labels", std::move(labels));
}

Status add_vocab_keys(const ModelFile& folder, const SideFiles& side, const ModelConfig& c, const std::string& arch,
                      const GgufPlanOptions& options, GgufPlan& plan) {
  if (c.n_types > 0) plan.keys.set("tokenizer.ggml.token_type_count", c.n_types);
  if (!has_vocabulary(side)) {
    plan.keys.set("tokenizer.ggml.model", std::string("none"));
    plan.notes.emplace_back("the folder has no tokenizer, so the file has no vocabulary");
    return {};
  }
  const auto vocab = read_folder_vocab(side, folder.metadata(), arch, c.n_vocab, options.pre_tokenizer, options.ends);
  if (!vocab.ok()) {
    Error error = vocab.error();
    error.message.insert(0, folder.path().string() + ": ");
    return error;
  }
  add_vocab(*vocab, plan.keys);
  plan.notes.insert(plan.notes.end(), vocab->notes.begin(), vocab->notes.end());
  for (const NamedTemplate& one : side.chat_templates) plan.keys.set(gguf_template_key(one.name), one.source);
  return {};
}

// Lists the names of the templates other than the default one, like llama.cpp's converter.
void list_templates(GgufKeys& keys) {
  std::vector<std::string> names;
  for (const NamedTemplate& one : gguf_templates(keys.metadata())) {
    if (one.name != kDefaultTemplate) names.push_back(one.name);
  }
  if (!names.empty()) keys.set(kGgufTemplateNamesKey, std::move(names));
}

// A folder that was made from a GGUF file keeps the name of its pre-tokenizer, which is tested like any other.
GgufPlanOptions with_kept(GgufPlanOptions options, const GgufKeys& kept) {
  const GgufValue* pre = kept.find("tokenizer.ggml.pre");
  if (options.pre_tokenizer.empty() && pre != nullptr && std::holds_alternative<std::string>(*pre)) {
    options.pre_tokenizer = std::get<std::string>(*pre);
  }
  return options;
}

// The planned file, as a reader sees it.
Result<ModelFile> described(const ModelFile& folder, const GgufPlan& plan, std::vector<std::vector<float>>& kept) {
  std::vector<TensorInfo> tensors;
  kept.reserve(plan.tensors.size());
  for (const PlannedTensor& tensor : plan.tensors) {
    TensorInfo info{tensor.name, tensor.is_f32 ? TypeId::kF32 : tensor.rows->type(), tensor.shape, {}};
    if (tensor.is_f32 && tensor.rows->n_rows() * tensor.rows->n_cols() <= kMostDescribed) {
      RZ_TRY(auto values, all_values(*tensor.rows));
      kept.push_back(std::move(values));
      info.data = std::as_bytes(std::span(kept.back()));
    }
    tensors.push_back(std::move(info));
  }
  return ModelFile::described(folder.path(), FileFormat::kGguf, HfConfig{plan.keys.metadata(), {}}, std::move(tensors));
}

// The plan must describe the folder's model.
Status check(const ModelFile& folder, const ModelConfig& expected, const GgufPlan& plan) {
  std::vector<std::vector<float>> kept;
  RZ_TRY(const ModelFile file, described(folder, plan, kept));
  RZ_TRY(const ModelConfig made, read_config(file));
  const auto differs = difference(expected, made);
  if (!differs) return {};
  return unsupported(fmt::format("{}: GGUF cannot say this of {}: the folder has {} in the file",
                                 folder.path().string(), expected.arch, *differs));
}

// Layers that predict further tokens, parts for images and sounds, buffers. Errors: Unsupported for any other tensor.
Status list_left_out(const ModelFile& folder, const ArchSpec& spec, const ModelConfig& config, const TensorParts& parts,
                     GgufPlan& plan) {
  RZ_TRY(const uint32_t n_extra, read_n_extra_layers(ConfigKeys(folder, spec)));
  const uint32_t n_own = n_file_layers(config);
  for (const TensorInfo* tensor : parts.unclaimed()) {
    bool is_extra = false;
    for (uint32_t layer = n_own; layer < n_own + n_extra; ++layer) {
      is_extra = is_extra || tensor->name.starts_with(fmt::format("model.layers.{}.", layer));
    }
    if (!is_extra) {
      return unsupported(fmt::format("{}: tensor '{}' of shape [{}] has no place in a GGUF file of {}",
                                     folder.path().string(), tensor->name, fmt::join(tensor->shape, ", "), spec.name),
                         tensor->name);
    }
    plan.left_out.push_back(tensor->name);
  }
  for (const TensorInfo& tensor : folder.tensors()) {
    if (is_unused(folder, spec, tensor)) plan.left_out.push_back(tensor.name);
  }
  return {};
}

}  // namespace

Result<GgufPlan> plan_gguf(const ModelFile& folder, const GgufPlanOptions& options) {
  RZ_TRY(const ArchSpec* spec, find_architecture(folder));
  RZ_TRY(ModelConfig config, read_config(folder));
  const ArchSpec& target = gguf_spec(*spec, config);
  GgufPlan plan;
  plan.notes.assign(folder.notes().begin(), folder.notes().end());
  const ModelConfig as_given = config;
  RZ_TRY(FoldedFactors factors, fold_factors(folder, *spec, config));
  use_gguf_formulas(target, config, plan);
  note_windows(target, config, plan);
  if (config.lacks_head) {
    plan.notes.emplace_back(
        "the folder has no head: the file is for vectors, and what it would generate makes no sense");
  }
  if (const std::string note = untied_head_note(folder, config); !note.empty()) plan.notes.push_back(note);
  add_general_keys(folder, target.name, plan.keys);
  RZ_CHECK_OK(add_config_keys(folder, *spec, target, config, plan));
  add_labels(folder, config, target.name, plan.keys);
  const HfForms forms(*spec, as_given, pairs_of(folder, *spec, target, config), std::move(factors));
  TensorParts parts(folder, *spec, as_given, forms);
  RZ_CHECK_OK(GgufTensors(target, as_given, parts, plan.tensors).add());
  for (const Role role : {Role::kIgnored, Role::kPooler, Role::kPoolerBias, Role::kXieluAlphaP, Role::kXieluAlphaN,
                          Role::kXieluBeta, Role::kXieluEps, Role::kVShareLow, Role::kVShare, Role::kVShareBias}) {
    parts.claim(role);
  }
  if (config.is_head_tied) parts.claim(Role::kHead);
  RZ_CHECK_OK(list_left_out(folder, *spec, config, parts, plan));
  if (plan.keys.find("general.size_label") == nullptr) plan.keys.set("general.size_label", size_label(plan.tensors));
  GgufKeys kept;
  RZ_CHECK_OK(read_kept_keys(folder, kept));
  RZ_TRY(const SideFiles side, folder.side_files());
  if (side.generation_config_json) RZ_CHECK_OK(add_sampling_keys(*side.generation_config_json, plan.keys));
  RZ_CHECK_OK(add_vocab_keys(folder, side, config, std::string(target.name), with_kept(options, kept), plan));
  for (const auto& [key, value] : kept.entries()) plan.keys.set(key, value);
  list_templates(plan.keys);
  RZ_CHECK_OK(check(folder, config, plan));
  return plan;
}

}  // namespace realizar
