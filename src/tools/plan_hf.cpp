// Plans a GGUF file's tensors under Hugging Face's names, in the order and the shapes of its folders.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "base/try.h"
#include "formats/folder_modules.h"
#include "formats/hf_config.h"
#include "model/arch/list.h"
#include "model/config_reader.h"
#include "model/tensor_roles.h"
#include "tools/conversion.h"
#include "tools/folder_files.h"
#include "tools/hf_config_writer.h"
#include "tools/tensor_parts.h"
#include "tools/weave.h"

namespace realizar {
namespace {

class HfTensors {
 public:
  HfTensors(const ArchSpec& spec, const ModelConfig& config, const HfForms& forms, TensorParts& parts,
            std::vector<PlannedTensor>& out)
      : spec_(spec), config_(config), forms_(forms), parts_(parts), out_(out) {}

  Status add() {
    for (const TensorSpec& spec : spec_.tensors) {
      if (!is_written(spec)) continue;
      // Outside of layers, a placeholder in a name is the index in a stack.
      const bool is_of_layers = n_placeholders(spec.hf) > 0 && stack_dim(spec.role) != Dim::kOtherStreams;
      const uint32_t n = is_of_layers ? n_file_layers(config_) : 1;
      for (uint32_t layer = 0; layer < n; ++layer) {
        RZ_CHECK_OK(add_role(spec, is_of_layers ? static_cast<int32_t>(layer) : -1));
      }
    }
    return {};
  }

 private:
  const TensorSpec* named(Role role) const {
    const bool prefers_stack = is_expert_role(role) && has_stack_of_gates();
    const TensorSpec* first = nullptr;
    for (const TensorSpec& t : spec_.tensors) {
      if (t.role != role || t.hf.empty()) continue;
      if (first == nullptr || (prefers_stack && is_stack(role, t.hf) && !is_stack(role, first->hf))) first = &t;
    }
    return first;
  }
  bool has_stack_of_gates() const {
    return std::ranges::any_of(spec_.tensors,
                               [](const TensorSpec& t) { return t.role == Role::kExpertGateUp && !t.hf.empty(); });
  }

  // Folders use the first of a role's names; and fused tensors, if these have names.
  bool is_written(const TensorSpec& spec) const {
    constexpr Role kOfConfig[] = {Role::kIgnored,     Role::kRopeFactors, Role::kRopeShort, Role::kRopeLong,
                                  Role::kXieluAlphaP, Role::kXieluAlphaN, Role::kXieluBeta, Role::kXieluEps};
    if (spec.hf.empty() || std::ranges::find(kOfConfig, spec.role) != std::end(kOfConfig)) return false;
    if (spec.role == Role::kHead && config_.is_head_tied) return false;
    if (named(spec.role) != &spec) return false;
    return std::ranges::none_of(fusions(), [&](const Fusion& fusion) {
      const bool is_part = std::ranges::find(fusion.parts, spec.role) != fusion.parts.end();
      const bool is_older = fusion.whole == Role::kShifts;  // folders have long had separate parts
      if (fusion.whole == spec.role) return is_older && named(fusion.parts.front()) != nullptr;
      return is_part && !is_older && named(fusion.whole) != nullptr && has_all(fusion);
    });
  }
  bool has_all(const Fusion& fusion) const {
    for (uint32_t layer = 0; layer < n_file_layers(config_); ++layer) {
      const auto has = [&](Role role) { return parts_.has({role, static_cast<int32_t>(layer)}); };
      if (std::ranges::all_of(fusion.parts, has)) return true;
    }
    return false;
  }

  Status add_role(const TensorSpec& spec, int32_t layer) {
    const Part part{spec.role, layer};
    if (!parts_.has(part) || unused_twin(config_, spec.role, layer)) return {};
    RZ_TRY(MatrixRows rows, rows_of_whole(parts_, spec, part, spec_, config_, true,
                                          [&](const Part& own) { return in_hf_form(spec, own); }));
    const uint64_t n_rows = parts_.size_of(part, spec.rows);
    const uint64_t n_cols = spec.cols == Dim::kNone ? 1 : parts_.size_of(part, spec.cols);
    const uint64_t n_mats = stack_dim(spec.role) == Dim::kNone ? 1 : parts_.size_of(part, stack_dim(spec.role));
    if (rows->n_rows() * rows->n_cols() != n_rows * n_cols * n_mats) {
      return format_error(fmt::format("'{}' of layer {}: expected {} elements, the file has {}", spec.hf, layer,
                                      n_rows * n_cols * n_mats, rows->n_rows() * rows->n_cols()));
    }
    const auto name_of = [&](uint32_t index) {
      return filled_name(spec.hf, layer < 0 ? index : static_cast<uint32_t>(layer), index);
    };
    const uint64_t n_apart = is_by_row(spec, spec.hf) ? n_rows : is_listed(spec, spec.hf) ? n_mats : 1;
    for (uint32_t i = 0; i < n_apart; ++i) {
      const uint64_t n = rows->n_rows() / n_apart, first = i * n;
      MatrixRows own = n_apart == 1 ? rows : ordered_rows(rows, n, [first](uint64_t row) { return first + row; });
      add_tensor(spec, name_of(i), std::move(own), n_rows, n_cols, n_apart == 1 ? n_mats : 1);
    }
    return {};
  }

  Result<MatrixRows> in_hf_form(const TensorSpec& spec, const Part& part) {
    RZ_TRY(MatrixRows rows, parts_.rows(part));
    return forms_.to_hf(part.role, config_layer(config_, spec, part.layer), std::move(rows));
  }

  // In the shape that folders use: transposed matrices, concatenated stacks, a channel dimension of 1.
  void add_tensor(const TensorSpec& spec, std::string name, MatrixRows rows, uint64_t n_rows, uint64_t n_cols,
                  uint64_t n_mats) {
    const bool is_matrix = spec.cols != Dim::kNone, is_of_stack = is_stack(spec.role, spec.hf);
    const bool is_table = spec.role == Role::kEmbed || spec.role == Role::kPositionEmbed || spec.role == Role::kHead;
    bool is_turned = spec_.hf_transposes_linear() && is_matrix && !is_table;
    if (is_of_stack && spec_.hf_transposes_experts()) is_turned = is_expert_role(spec.role);
    if (is_of_stack && spec_.hf_has_flat_experts()) is_turned = spec.role == Role::kExpertDown;
    if (is_turned) {
      rows = turned_rows(std::move(rows), n_rows);
      std::swap(n_rows, n_cols);
    }
    std::vector<uint64_t> shape{n_rows};
    if (is_matrix && !is_by_row(spec, spec.hf)) shape.push_back(n_cols);
    if (is_by_row(spec, spec.hf)) shape = {n_cols};
    if (is_of_stack && spec_.hf_has_flat_experts()) {
      shape[0] *= n_mats;
    } else if (is_of_stack) {
      shape.insert(shape.begin(), n_mats);
    }
    const bool is_decay = spec.role == Role::kSsmA || spec.role == Role::kSsmD;
    if (is_decay && shape.size() == 2 && shape[1] == 1) shape.pop_back();
    const bool is_convolution = spec.role == Role::kSsmConv || (spec.role >= Role::kConvQ && spec.role <= Role::kConvV);
    if (is_convolution) shape.insert(shape.begin() + 1, 1);
    const bool is_shift = spec.role >= Role::kShiftR && spec.role <= Role::kShiftGate;
    if (is_shift) shape.insert(shape.begin(), 2, 1);
    if (spec.hf.find("moe_statics") != std::string_view::npos) shape.insert(shape.begin(), 1);
    out_.push_back({std::move(name), std::move(shape), std::move(rows), false});
  }

  const ArchSpec& spec_;
  const ModelConfig& config_;
  const HfForms& forms_;
  TensorParts& parts_;
  std::vector<PlannedTensor>& out_;
};

// The table's rows for folders of this model: the file's own, and those for folders only.
std::vector<const ArchSpec*> hf_specs(const ArchSpec& source) {
  constexpr std::pair<std::string_view, std::string_view> kOthers[] = {
      {"bert", "xlm-roberta"}, {"jina-bert-v3", "xlm-roberta-flash"}, {"granitehybrid", "bamba"}, {"grok", "grok-1"},
      {"chatglm", "chatglm2"}, {"nemotron_h_moe", "nemotron_h"}};
  std::vector<const ArchSpec*> specs{&source};
  for (const ArchSpec* spec : all_architectures()) {
    const bool is_other = std::ranges::any_of(
        kOthers, [&](const auto& names) { return names.first == source.name && names.second == spec->name; });
    if (spec != &source && (spec->name == source.name || is_other)) specs.push_back(spec);
  }
  return specs;
}

// The numbers of an activation, which are keys in GGUF.
Status add_xielu(const ModelFile& gguf, const ArchSpec& spec, const ModelConfig& config, HfPlan& plan) {
  for (const auto& [role, key] : kXieluKeys) {
    const auto row = std::ranges::find(spec.tensors, role, &TensorSpec::role);
    const MetaValue* value = gguf.metadata().find(key);
    if (row == spec.tensors.end() || row->hf.empty() || value == nullptr) continue;
    std::vector<double> numbers;
    if (std::holds_alternative<MetaArray>(*value)) {
      RZ_TRY(const auto list, gguf.metadata().get_doubles(key));
      numbers = list.value_or(std::vector<double>());
    } else {
      RZ_TRY(const auto number, gguf.metadata().get_double(key));
      numbers.assign(config.n_layers, number.value_or(0));
    }
    for (uint32_t layer = 0; layer < config.n_layers && layer < numbers.size(); ++layer) {
      plan.tensors.push_back(
          {filled_name(row->hf, layer, 0), {1}, given_rows({static_cast<float>(numbers[layer])}, 1), true});
    }
  }
  return {};
}

struct DescribedFolder {
  std::vector<std::vector<float>> kept;
  std::optional<ModelFile> file;
};

// The planned folder, as a reader sees it.
Status describe(const ModelFile& gguf, const HfPlan& plan, DescribedFolder& out) {
  constexpr uint64_t kMostKept = 1 << 16;
  RZ_TRY(HfConfig config, parse_hf_config(plan.config, "config.json"));
  if (const auto pooling = plan.side_files.find("1_Pooling/config.json"); pooling != plan.side_files.end()) {
    RZ_TRY(const HfConfig modes, parse_hf_config(pooling->second, "1_Pooling/config.json"));
    for (const auto& [key, value] : modes.metadata.entries()) config.metadata.set("1_Pooling." + key, value);
  }
  std::vector<TensorInfo> tensors;
  out.kept.reserve(plan.tensors.size());
  for (const PlannedTensor& tensor : plan.tensors) {
    TensorInfo info{tensor.name, TypeId::kF32, tensor.shape, {}};
    if (tensor.rows->n_rows() * tensor.rows->n_cols() <= kMostKept && tensor.shape.size() == 1) {
      RZ_TRY(auto values, all_values(*tensor.rows));
      out.kept.push_back(std::move(values));
      info.data = std::as_bytes(std::span(out.kept.back()));
    }
    tensors.push_back(std::move(info));
  }
  RZ_TRY(out.file, ModelFile::described(gguf.path(), FileFormat::kHuggingFace, std::move(config), std::move(tensors)));
  return {};
}

// A product without bias or activation, in the form of sentence-transformers.
std::string dense_config(uint32_t n_in, uint32_t n_out) {
  const nlohmann::ordered_json config = {{"in_features", n_in},
                                         {"out_features", n_out},
                                         {"bias", false},
                                         {"activation_function", "torch.nn.modules.linear.Identity"}};
  return config.dump(2) + "\n";
}

// Describes how states become one vector, unless it is the default of a folder without such files.
void add_modules(const ModelConfig& config, HfPlan& plan) {
  const bool is_default = config.pooling == (config.is_bidirectional ? Pooling::kMean : Pooling::kLast);
  if (config.pooling == Pooling::kRank || (is_default && config.n_dense == 0)) return;
  const char* mode = config.pooling == Pooling::kMean    ? "pooling_mode_mean_tokens"
                     : config.pooling == Pooling::kFirst ? "pooling_mode_cls_token"
                                                         : "pooling_mode_lasttoken";
  const nlohmann::ordered_json modes = {{"word_embedding_dimension", config.d_model}, {mode, true}};
  plan.side_files["1_Pooling/config.json"] = modes.dump(2) + "\n";
  std::vector<std::pair<std::string, std::string>> modules = {{"", "Transformer"}, {"1_Pooling", "Pooling"}};
  if (config.n_dense > 0) {
    plan.side_files["2_Dense/config.json"] = dense_config(config.d_model, config.n_dense);
    plan.side_files["3_Dense/config.json"] = dense_config(config.n_dense, config.d_model);
    modules.insert(modules.end(), {{"2_Dense", "Dense"}, {"3_Dense", "Dense"}});
  }
  modules.emplace_back(fmt::format("{}_Normalize", modules.size()), "Normalize");
  auto list = nlohmann::ordered_json::array();
  for (const auto& [path, kind] : modules) {
    list.push_back({{"idx", list.size()},
                    {"name", std::to_string(list.size())},
                    {"path", path},
                    {"type", "sentence_transformers.models." + kind}});
  }
  plan.side_files[kModulesName] = list.dump(2) + "\n";
}

// If config.json cannot express the form of GELU or the context length, transformers' own values apply.
ModelConfig with_hf_formulas(ModelConfig c, const ModelConfig& made, const ArchSpec& spec, HfPlan& plan) {
  if (spec.hf_keys.n_ctx.empty() && c.n_ctx_train != made.n_ctx_train) {
    plan.notes.push_back(
        fmt::format("config.json of this family cannot store the context's {} positions", c.n_ctx_train));
    c.n_ctx_train = made.n_ctx_train;
    c.n_ctx = made.n_ctx;
  }
  const bool is_fixed = spec.hf_keys.activation.empty() && spec.hf_keys.default_activation == Activation::kGeluErf;
  bool has_other = false;
  for (LayerConfig& layer : c.layers) {
    auto* plain = std::get_if<PlainConfig>(&layer.ffn);
    if (plain == nullptr || !is_fixed || plain->activation != Activation::kGelu) continue;
    plain->activation = Activation::kGeluErf;
    has_other = true;
  }
  if (has_other)
    plan.notes.emplace_back("transformers' models of this family compute GELU exactly, GGUF's by its tanh form");
  return c;
}

// Plans a folder of one class. Errors: the reason why that class cannot be this model.
Result<HfPlan> plan_for(const ModelFile& gguf, const ArchSpec& source, const ArchSpec& spec, std::string_view hf_class,
                        const ModelConfig& config) {
  HfPlan plan;
  RZ_TRY(const auto root, hf_config_of(gguf, source, spec, hf_class, config));
  plan.config = root.dump(2) + "\n";
  add_modules(config, plan);
  const bool has_sections = gguf.metadata().contains(std::string(source.name) + ".rope.dimension_sections");
  const HfForms::Pairs pairs{.gguf = source.has_gguf_pairs() && !has_sections, .hf = spec.has_hf_pairs()};
  const HfForms forms(spec, config, pairs, {});
  TensorParts parts(gguf, source, config, forms);
  RZ_CHECK_OK(HfTensors(spec, config, forms, parts, plan.tensors).add());
  RZ_CHECK_OK(add_xielu(gguf, spec, config, plan));
  for (const Role role : {Role::kIgnored, Role::kRopeFactors, Role::kRopeShort, Role::kRopeLong, Role::kPooler,
                          Role::kPoolerBias, Role::kVShareLow, Role::kVShare, Role::kVShareBias}) {
    parts.claim(role);
  }
  if (config.is_head_tied) parts.claim(Role::kHead);
  for (const TensorInfo* tensor : parts.unclaimed()) {
    return unsupported(fmt::format("{}: tensor '{}' of shape [{}] has no place in a folder of {}", gguf.path().string(),
                                   tensor->name, fmt::join(tensor->shape, ", "), hf_class),
                       tensor->name);
  }
  DescribedFolder folder;
  RZ_CHECK_OK(describe(gguf, plan, folder));
  RZ_TRY(const ArchSpec* read_by, find_architecture(*folder.file));
  if (read_by != &spec) return unsupported(fmt::format("a folder of {} is read as another family", hf_class));
  RZ_TRY(const ModelConfig made, read_config(*folder.file));
  const auto differs = difference(with_hf_formulas(config, made, spec, plan), made);
  if (!differs) return plan;
  return unsupported(fmt::format("{}: a folder of {} cannot say this: the file has {} there", gguf.path().string(),
                                 hf_class, *differs));
}

}  // namespace

Result<HfPlan> plan_hf(const ModelFile& gguf, const EndSettings& ends) {
  RZ_TRY(const ArchSpec* source, find_architecture(gguf));
  RZ_TRY(const ModelConfig config, read_config(gguf));
  std::optional<Error> first;
  for (const ArchSpec* spec : hf_specs(*source)) {
    for (const std::string_view hf_class : spec->hf_classes) {
      auto plan = plan_for(gguf, *source, *spec, hf_class, config);
      if (!plan.ok()) {
        if (!first) first = plan.error();
        continue;
      }
      RZ_CHECK_OK(add_folder_files(gguf, config, *plan, ends));
      return plan;
    }
  }
  if (first) return *first;
  return unsupported(fmt::format("{}: architecture '{}' has no folders", gguf.path().string(), source->name));
}

}  // namespace realizar
