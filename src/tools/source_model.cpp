#include "tools/source_model.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <string_view>
#include <utility>

#include "base/try.h"
#include "formats/gguf_format.h"
#include "model/arch/list.h"
#include "model/model.h"

namespace realizar {
namespace {

// Keys that describe how a file is split and stored, which the new file sets itself.
bool is_of_storage(std::string_view key) {
  constexpr std::string_view kKeys[] = {"general.file_type", "general.quantization_version", kGgufAlignmentKey};
  return std::ranges::find(kKeys, key) != std::end(kKeys) || key.starts_with("split.") ||
         key.starts_with("quantize.imatrix.");
}

SourceModel source_of_gguf(const ModelFile& file) {
  SourceModel source;
  source.metadata = file.metadata();
  for (const GgufEntry& entry : file.gguf_entries()) {
    if (!is_of_storage(entry.key)) source.entries.add_stored(entry.key, entry.value);
  }
  for (const TensorInfo& tensor : file.tensors()) {
    const uint64_t n_cols = tensor.shape.empty() ? 1 : tensor.shape.back();
    source.tensors.push_back({tensor.name, tensor.shape, stored_rows(file, tensor, n_cols)});
  }
  return source;
}

Result<SourceModel> source_of_folder(const ModelFile& folder, const GgufPlanOptions& options) {
  RZ_TRY(GgufPlan plan, plan_gguf(folder, options));
  SourceModel source;
  for (PlannedTensor& tensor : plan.tensors) {
    MatrixRows rows = reshaped_rows(std::move(tensor.rows), tensor.shape.back());
    if (tensor.is_f32) rows = rows_in_type(std::move(rows), TypeId::kF32);
    source.tensors.push_back({std::move(tensor.name), std::move(tensor.shape), std::move(rows)});
  }
  source.notes = std::move(plan.notes);
  source.left_out = std::move(plan.left_out);
  GgufKeys kept;
  for (const auto& [key, value] : plan.keys.entries()) {
    if (!is_of_storage(key)) kept.set(key, value);
  }
  kept.add_to(source.entries);
  source.keys = std::make_shared<const GgufKeys>(std::move(kept));
  source.metadata = source.keys->metadata();
  return source;
}

// Decided by the name only: a file with a known name may lack the tensor that shows which of the name's families it
// belongs to.
bool is_known(const ModelFile& gguf) {
  const auto name = gguf.metadata().get_string("general.architecture");
  return !name.ok() || !*name ||
         std::ranges::find(all_architectures(), **name, &ArchSpec::name) != all_architectures().end();
}

}  // namespace

uint64_t SourceTensor::n_mats() const {
  return shape.size() > 2 ? std::accumulate(shape.begin(), shape.end() - 2, uint64_t{1}, std::multiplies<>()) : 1;
}

Result<SourceModel> source_of(const ModelFile& file, const GgufPlanOptions& options) {
  RZ_CHECK_OK(file.checked(check_model(file)));
  SourceModel source;
  if (file.format() == FileFormat::kGguf) {
    source = source_of_gguf(file);
  } else {
    RZ_TRY(source, source_of_folder(file, options));
  }
  source.check = [&file] { return file.check(); };
  return source;
}

Status check_model(const ModelFile& file) {
  if (file.format() == FileFormat::kGguf) {
    RZ_TRY(const auto type, file.metadata().get_string("general.type"));
    if ((type && *type != "model") || !is_known(file)) return {};
  }
  RZ_TRY(const ModelConfig config, read_config(file));
  return check_tensors(file, config);
}

}  // namespace realizar
