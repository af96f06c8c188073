#include "tools/convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/ascii_case.h"
#include "base/try.h"
#include "formats/gguf_writer.h"
#include "tools/conversion.h"
#include "tools/general_keys.h"
#include "tools/generation_keys.h"
#include "tools/read_files.h"
#include "tools/safetensors_stream.h"
#include "tools/source_model.h"

namespace realizar {
namespace {

// The version of the quantization formats, in llama.cpp's numbering.
constexpr uint32_t kQuantizationVersion = 2;

uint64_t bytes_of(const std::vector<OutTensor>& tensors) {
  uint64_t n_bytes = 0;
  for (const OutTensor& tensor : tensors) n_bytes += tensor.n_bytes();
  return n_bytes;
}

// The type of most of the model's bytes.
TypeId main_type(const std::vector<OutTensor>& tensors) {
  std::map<TypeId, uint64_t> n_elems;
  for (const OutTensor& tensor : tensors) {
    if (tensor.shape.size() > 1) n_elems[tensor.rows->type()] += tensor.rows->n_rows() * tensor.rows->n_cols();
  }
  const auto most = std::ranges::max_element(n_elems, {}, &std::pair<const TypeId, uint64_t>::second);
  return most == n_elems.end() ? TypeId::kF32 : most->first;
}

Result<ConvertReport> to_gguf(const ModelFile& folder, const std::filesystem::path& to, const ConvertOptions& options,
                              const WriteRun& run) {
  RZ_TRY(GgufPlan plan, plan_gguf(folder, {options.pre_tokenizer, options.ends}));
  std::vector<OutTensor> tensors;
  for (PlannedTensor& tensor : plan.tensors) {
    const TypeId type = tensor.is_f32 ? TypeId::kF32 : options.type.value_or(tensor.rows->type());
    tensors.push_back({std::move(tensor.name), std::move(tensor.shape), rows_in_type(std::move(tensor.rows), type)});
  }
  const bool has_fp8 =
      std::ranges::any_of(folder.tensors(), [](const TensorInfo& tensor) { return tensor.type == TypeId::kF8_E4M3; });
  if (has_fp8 && options.type != TypeId::kF32) {
    plan.notes.push_back(
        fmt::format("the folder's FP8 weights become {}, rounded", traits(options.type.value_or(TypeId::kBF16)).name));
  }
  plan.keys.set("general.file_type", file_type_of(main_type(tensors)));
  plan.keys.set("general.quantization_version", kQuantizationVersion);
  const auto add_metadata = [&](GgufWriter& writer) { plan.keys.add_to(writer); };
  RZ_TRY(auto files, write_gguf(to, tensors, add_metadata, options.split_bytes, run));
  return ConvertReport{std::move(files), bytes_of(tensors), std::move(plan.notes), std::move(plan.left_out)};
}

bool is_unblocked(TypeId type) {
  return type == TypeId::kF32 || type == TypeId::kF16 || type == TypeId::kBF16;
}

// Vectors stay as they are; quantized matrices are refused, since no folder format for them is common to all programs.
Result<ConvertReport> to_folder(const ModelFile& gguf, const std::filesystem::path& to, const ConvertOptions& options,
                                const WriteRun& run) {
  if (options.type && !is_unblocked(*options.type)) {
    return invalid_argument("--type: a folder has weights in f32, f16 or bf16", "--type");
  }
  RZ_TRY(HfPlan plan, plan_hf(gguf, options.ends));
  std::vector<OutTensor> tensors;
  bool is_decoded = false;
  for (PlannedTensor& tensor : plan.tensors) {
    const TypeId own = tensor.rows->type();
    is_decoded = is_decoded || !is_unblocked(own);
    const TypeId otherwise = is_unblocked(own) ? own : TypeId::kBF16;
    const bool is_kept = tensor.shape.size() == 1 && is_unblocked(own);
    tensors.push_back({std::move(tensor.name), std::move(tensor.shape),
                       rows_in_type(std::move(tensor.rows), is_kept ? own : options.type.value_or(otherwise))});
  }
  if (is_decoded) {
    plan.notes.push_back(fmt::format("the file's quantized weights become {}, rounded",
                                     traits(options.type.value_or(TypeId::kBF16)).name));
  }
  auto root = nlohmann::ordered_json::parse(plan.config);
  const TypeId main = main_type(tensors);
  root["torch_dtype"] = main == TypeId::kF32 ? "float32" : main == TypeId::kF16 ? "float16" : "bfloat16";
  plan.side_files["config.json"] = root.dump(2) + "\n";
  RZ_TRY(auto files, write_hf_folder(to, tensors, plan.side_files, options.split_bytes, run));
  return ConvertReport{std::move(files), bytes_of(tensors), std::move(plan.notes), std::move(plan.left_out)};
}

Status check_places(const ModelFile& file, const std::vector<std::filesystem::path>& places) {
  const std::vector<std::filesystem::path> files = files_read_for(file);
  for (const std::filesystem::path& place : places) RZ_CHECK_OK(check_not_read(place, files));
  return {};
}

// Writes the tensors and metadata in other pieces.
Result<ConvertReport> repack(const ModelFile& file, const std::filesystem::path& to, const ConvertOptions& options,
                             const WriteRun& run) {
  if (options.type) {
    return invalid_argument("--type is for folders: 'realizar quantize' gives a GGUF file another type", "--type");
  }
  std::vector<OutTensor> tensors;
  for (const TensorInfo& tensor : file.tensors()) {
    const uint64_t n_cols = tensor.shape.empty() ? 1 : tensor.shape.back();
    tensors.push_back({tensor.name, tensor.shape, stored_rows(file, tensor, n_cols)});
  }
  RZ_CHECK_OK(check_places(file, gguf_paths(to, tensors, options.split_bytes)));
  const bool changes_ends = !options.ends.ends.empty() || !options.ends.no_ends.empty();
  ChangedEndKeys ends;
  if (changes_ends) {
    RZ_TRY(ends, changed_end_keys(file, options.ends));
  }
  const auto add_metadata = [&](GgufWriter& writer) {
    for (const GgufEntry& entry : file.gguf_entries()) {
      const bool is_changed = changes_ends && (entry.key == kEndIdsKey || entry.key == kNoEndIdsKey);
      if (!is_changed && !entry.key.starts_with("split.")) writer.add_stored(entry.key, entry.value);
    }
    if (!ends.ends.empty()) writer.add_u32s(kEndIdsKey, ends.ends);
    if (!ends.no_ends.empty()) writer.add_u32s(kNoEndIdsKey, ends.no_ends);
  };
  RZ_TRY(auto files, write_gguf(to, tensors, add_metadata, options.split_bytes, run));
  return ConvertReport{std::move(files), bytes_of(tensors), std::move(ends.notes), {}};
}

}  // namespace

Result<ConvertReport> convert(const std::filesystem::path& from, const std::filesystem::path& to,
                              const ConvertOptions& options, const WriteRun& run) {
  RZ_TRY(const ModelFile file, ModelFile::open(from));
  RZ_CHECK_OK(check_places(file, {to}));
  RZ_CHECK_OK(file.checked(check_model(file)));
  WriteRun checked = run;
  checked.check = [&file] { return file.check(); };
  const bool becomes_gguf = equals_ignoring_case(to.extension().string(), ".gguf");
  const bool is_gguf = file.format() == FileFormat::kGguf;
  if (!is_gguf && !becomes_gguf) {
    return invalid_argument(fmt::format("{} is a folder already: expected a path that ends in .gguf, actual {}",
                                        from.string(), to.string()),
                            to.string());
  }
  auto report = !is_gguf       ? to_gguf(file, to, options, checked)
                : becomes_gguf ? repack(file, to, options, checked)
                               : to_folder(file, to, options, checked);
  return file.checked(std::move(report));
}

}  // namespace realizar
