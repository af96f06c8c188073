#include "tools/quantize.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "base/printable.h"
#include "base/try.h"
#include "tools/gguf_stream.h"
#include "tools/tensor_encoder.h"

namespace realizar {
namespace {

bool is_plain(TypeId type) {
  return type == TypeId::kF32 || type == TypeId::kF16 || type == TypeId::kBF16;
}

// Types that are of little use without importance.
bool needs_importance(TypeId type) {
  constexpr std::array kTypes = {TypeId::kIQ1_S, TypeId::kIQ1_M, TypeId::kIQ2_XXS, TypeId::kIQ2_XS};
  return std::ranges::find(kTypes, type) != kTypes.end();
}

TypeId wanted_type(const SourceTensor& tensor, const QuantizeOptions& options, const MixModel& model) {
  for (const TypeRule& rule : options.rules) {
    if (rule.pattern.is_in(tensor.name)) return rule.type;
  }
  const MixPart part = mix_part_of(tensor.name, model);
  if (part == MixPart::kOutput && options.output_type) return *options.output_type;
  const bool is_embedding = part == MixPart::kEmbedding || tensor.name == "token_embd.weight";
  if (is_embedding && options.embedding_type) return *options.embedding_type;
  if (options.is_pure) return options.mix->base;
  return mixed_type(*options.mix, tensor.name, tensor.n_mats() > 1, model);
}

Result<PlannedType> plan_tensor(const SourceTensor& tensor, const QuantizeOptions& options, const MixModel& model) {
  if (options.mix == nullptr || is_kept(tensor.name, tensor.shape)) return PlannedType{tensor.type(), ""};
  const TypeId wanted = wanted_type(tensor, options, model);
  PlannedType planned{fitting_type(wanted, tensor.n_cols()), ""};
  if (planned.type != wanted) {
    planned.note = fmt::format("rows of {} are not a multiple of {}'s {}", tensor.n_cols(), traits(wanted).name,
                               traits(wanted).block_elems);
  }
  if (planned.type == tensor.type()) return planned;
  if (!is_plain(tensor.type()) && !options.allow_requantize) {
    return invalid_argument(
        fmt::format("tensor '{}' is quantized already, in {}: errors would add up. Take the file in F16, BF16 or F32, "
                    "or say --allow-requantize",
                    printable(tensor.name), traits(tensor.type()).name),
        tensor.name);
  }
  const bool has_importance = options.importance != nullptr && options.importance->entries.contains(tensor.name);
  if (needs_importance(planned.type) && !has_importance && tensor.name != "token_embd.weight") {
    return invalid_argument(fmt::format("tensor '{}' in {} requires its importance (--imatrix FILE, made by realizar "
                                        "imatrix): without it the model would be nearly useless",
                                        printable(tensor.name), traits(planned.type).name),
                            tensor.name);
  }
  return planned;
}

// A column that no text used keeps a small weight.
void raise_floor(std::vector<float>& weights) {
  if (weights.empty()) return;
  constexpr double kFloor = 1e-4;
  const double mean = std::accumulate(weights.begin(), weights.end(), 0.0) / static_cast<double>(weights.size());
  for (float& weight : weights) weight += static_cast<float>(kFloor * mean);
}

}  // namespace

Result<NamePattern> NamePattern::compile(const std::string& text) {
  std::unique_ptr<regex_t, Free> expression(new regex_t{});
  const int error = ::regcomp(expression.get(), text.c_str(), REG_EXTENDED | REG_NOSUB);
  if (error == 0) return NamePattern(std::move(expression));
  char reason[128];
  ::regerror(error, expression.get(), reason, sizeof reason);
  delete expression.release();  // nothing was compiled, so nothing is freed
  return invalid_argument(fmt::format("'{}' is not a regular expression: {}", printable(text), reason));
}

bool NamePattern::is_in(const std::string& name) const {
  return ::regexec(expression_.get(), name.c_str(), 0, nullptr, 0) == 0;
}

void NamePattern::Free::operator()(regex_t* expression) const {
  ::regfree(expression);
  delete expression;
}

Result<QuantizePlan> plan_types(const SourceModel& source, const QuantizeOptions& options) {
  MixModel model = MixModel::of(source.metadata);
  model.has_importance = options.importance != nullptr;
  model.has_output = std::ranges::find(source.tensors, "output.weight", &SourceTensor::name) != source.tensors.end();
  QuantizePlan plan;
  for (const SourceTensor& tensor : source.tensors) {
    RZ_TRY(PlannedType planned, plan_tensor(tensor, options, model));
    plan.n_source_bytes += tensor.n_bytes();
    plan.n_bytes += row_bytes(traits(planned.type), tensor.n_elems());
    plan.n_elems += tensor.n_elems();
    plan.types.push_back(std::move(planned));
  }
  return plan;
}

GgufWriter quantized_entries(const SourceModel& source, const QuantizeOptions& options) {
  constexpr uint32_t kQuantizationVersion = 2;  // version of the K types' packing
  GgufWriter writer = source.entries;
  writer.add_u32("general.quantization_version", kQuantizationVersion);
  if (options.mix != nullptr) {
    writer.add_u32("general.file_type", options.mix->file_type);
  } else if (const auto own = source.metadata.get_int("general.file_type"); own.ok() && *own) {
    writer.add_u32("general.file_type", static_cast<uint32_t>(**own));
  }
  if (options.importance == nullptr) return writer;
  writer.add_string("quantize.imatrix.file", options.importance_file);
  if (!options.importance->datasets.empty()) {
    writer.add_string("quantize.imatrix.dataset", options.importance->datasets.front());
  }
  writer.add_u32("quantize.imatrix.entries_count", static_cast<uint32_t>(options.importance->entries.size()));
  writer.add_u32("quantize.imatrix.chunks_count", static_cast<uint32_t>(options.importance->n_chunks));
  return writer;
}

Status write_quantized(const SourceModel& source, const QuantizePlan& plan, const QuantizeOptions& options,
                       const QuantizeRun& run, const std::filesystem::path& path) {
  GgufWriter writer = quantized_entries(source, options);
  for (size_t i = 0; i < source.tensors.size(); ++i) {
    writer.announce_tensor(source.tensors[i].name, plan.types[i].type, source.tensors[i].shape);
  }
  RZ_TRY(GgufStream out, GgufStream::create(path, writer));
  TensorEncoder encoder(out, run);
  uint64_t n_done = 0;
  for (size_t i = 0; i < source.tensors.size(); ++i) {
    const SourceTensor& tensor = source.tensors[i];
    std::vector<float> weights;
    if (options.importance != nullptr && plan.types[i].type != tensor.type()) {
      RZ_TRY(weights, options.importance->weights(tensor.name, tensor.n_mats(), tensor.n_cols()));
      raise_floor(weights);
    }
    const auto progress = [&](uint64_t n_bytes) { run.progress(i, n_done + n_bytes); };
    const Status written = encoder.write(tensor, plan.types[i].type, weights, progress);
    RZ_CHECK_OK(source.check());
    RZ_CHECK_OK(written);
    n_done += tensor.n_bytes();
  }
  return out.commit();
}

}  // namespace realizar
