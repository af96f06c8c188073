#include "formats/quantized_tensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/ascii_case.h"
#include "base/try.h"
#include "formats/folder_tensors.h"
#include "formats/hf_config.h"
#include "formats/hqq_tensors.h"
#include "formats/packed_layouts.h"
#include "quant/blocks.h"

namespace realizar {
namespace {

using Shape = std::vector<uint64_t>;

// The type whose blocks can hold the codes unchanged; F16, with a note, if there is none.
TypeId type_for(FolderTensors& folder, uint32_t bits, bool is_symmetric, uint64_t n_cols, uint64_t n_groups) {
  const bool has_blocks = n_cols % kBlockElems == 0 && n_cols / n_groups % kBlockElems == 0;
  if (!has_blocks) {
    folder.note("groups of columns that are no multiple of 32 have no type: those weights are kept as F16");
    return TypeId::kF16;
  }
  if (bits < 4) return TypeId::kQ4_0;
  if (bits == 4) return is_symmetric ? TypeId::kQ4_0 : TypeId::kQ5_0;
  if (is_symmetric) return TypeId::kQ8_0;
  folder.note("8-bit codes with zeros of their own have no type: those weights are kept as F16");
  return TypeId::kF16;
}

void add_codes(FolderTensors& folder, PackedCodes codes) {
  const TypeId type = codes.type;
  if (codes.scale_type == TypeId::kF32 && type != TypeId::kF16) {
    folder.note("scales in F32 are rounded to F16");
  }
  Shape shape{codes.n_rows, codes.n_cols};
  std::string name = codes.name;
  const auto data = codes.codes.words;
  folder.add(std::move(name), type, std::move(shape), data, make_packed_codes(std::move(codes)));
}

// GPTQ ("gptq" and "gptq_v2" of GPTQModel, formerly AutoGPTQ): qweight I32 [in * bits / 32, out], each column a stream
// of codes; qzeros I32 [groups, out * bits / 32], in "gptq" one less than the zero; scales [groups, out]; g_idx I32
// [in], the group of each input, which is not sorted with act-order.
Status bind_gptq(FolderTensors& folder) {
  RZ_TRY(const auto bits, folder.number("bits", 4));
  RZ_TRY(const auto format, folder.text("checkpoint_format", "gptq"));
  RZ_TRY(const auto is_symmetric, folder.flag("sym", false));
  RZ_TRY(const auto is_ordered, folder.flag("desc_act", false));
  RZ_TRY(const auto has_static_groups, folder.flag("static_groups", false));
  if (bits != 2 && bits != 3 && bits != 4 && bits != 8)
    return folder.refused(fmt::format("gptq of {} bits is not supported", bits));
  if (format != "gptq" && format != "gptq_v2") {
    return folder.refused(fmt::format("checkpoint_format '{}' is not supported (gptq and gptq_v2 are)", format));
  }
  for (const std::string& base : folder.bases(".qweight")) {
    RZ_TRY(const TensorPart* weight, folder.take(base + ".qweight", {"I32"}));
    RZ_TRY(const TensorPart* scales, folder.take(base + ".scales", {"F16", "BF16", "F32"}));
    const auto width = static_cast<uint64_t>(bits);
    if (weight->shape.size() != 2 || scales->shape.size() != 2) return folder.uneven(base + ".qweight", weight->shape);
    const uint64_t n_rows = weight->shape[1], n_cols = pieces_of(weight->shape[0] * 32, width);
    const uint64_t n_groups = scales->shape[0];
    if (n_cols == 0 || scales->shape[1] != n_rows || n_rows * width % 32 != 0) {
      return folder.uneven(base + ".qweight", weight->shape);
    }
    RZ_TRY(const TensorPart* zeros, folder.take(base + ".qzeros", {"I32"}, {n_groups, n_rows * width / 32}));
    const TensorPart* order = nullptr;
    if (folder.find(base + ".g_idx") != nullptr) {
      RZ_TRY(order, folder.take(base + ".g_idx", {"I32"}, {n_cols}));
    }
    PackedCodes codes{.name = base + ".weight", .type = TypeId::kF16};
    codes.n_rows = n_rows;
    codes.n_cols = n_cols;
    codes.n_groups = n_groups;
    const bool needs_order = is_ordered && !has_static_groups && n_groups > 1 && order != nullptr;
    if (needs_order) {
      folder.note("columns that act-order assigned to groups have no type: those weights are kept as F16");
    } else if (pieces_of(n_cols, n_groups) == 0) {
      return folder.uneven(base + ".scales", scales->shape);
    } else {
      codes.type = type_for(folder, static_cast<uint32_t>(bits), is_symmetric, n_cols, n_groups);
    }
    codes.codes = {weight->data, static_cast<uint32_t>(bits), n_rows, CodeGrid::Place::kApart};
    codes.zeros = {zeros->data, static_cast<uint32_t>(bits), n_rows * width / 32, CodeGrid::Place::kBeside};
    codes.zeros_are_one_less = format == "gptq";
    codes.scales = scales->data;
    codes.scale_type = scales->float_type();
    if (order != nullptr) codes.column_group = order->data;
    add_codes(folder, std::move(codes));
  }
  return {};
}

// AWQ's version "gemm" (AutoAWQ): qweight I32 [in, out / 8], qzeros I32 [groups, out / 8], scales [groups, out].
Status bind_awq(FolderTensors& folder) {
  RZ_TRY(const auto bits, folder.number("bits", 4));
  RZ_TRY(const auto version, folder.text("version", "gemm"));
  RZ_TRY(const auto has_zeros, folder.flag("zero_point", true));
  if (bits != 4) return folder.refused(fmt::format("awq of {} bits is not supported (4 are)", bits));
  if (lower_case(version) != "gemm")
    return folder.refused(fmt::format("awq's version '{}' is not supported (gemm is)", version));
  for (const std::string& base : folder.bases(".qweight")) {
    RZ_TRY(const TensorPart* weight, folder.take(base + ".qweight", {"I32"}));
    RZ_TRY(const TensorPart* scales, folder.take(base + ".scales", {"F16", "BF16", "F32"}));
    if (weight->shape.size() != 2 || scales->shape.size() != 2) return folder.uneven(base + ".qweight", weight->shape);
    const uint64_t n_cols = weight->shape[0], n_rows = weight->shape[1] * 8, n_groups = scales->shape[0];
    if (scales->shape[1] != n_rows || pieces_of(n_cols, n_groups) == 0) {
      return folder.uneven(base + ".scales", scales->shape);
    }
    PackedCodes codes{.name = base + ".weight", .type = type_for(folder, 4, !has_zeros, n_cols, n_groups)};
    codes.n_rows = n_rows;
    codes.n_cols = n_cols;
    codes.n_groups = n_groups;
    codes.codes = {weight->data, 4, n_rows / 8, CodeGrid::Place::kAwq};
    codes.codes_by_column = true;
    if (has_zeros || folder.find(base + ".qzeros") != nullptr) {
      RZ_TRY(const TensorPart* zeros, folder.take(base + ".qzeros", {"I32"}, {n_groups, n_rows / 8}));
      codes.zeros = {zeros->data, 4, n_rows / 8, CodeGrid::Place::kAwq};
    }
    codes.scales = scales->data;
    codes.scale_type = scales->float_type();
    add_codes(folder, std::move(codes));
  }
  return {};
}

Result<float> single_float(FolderTensors& folder, const std::string& name) {
  RZ_TRY(const TensorPart* part, folder.take(name, {"F32"}));
  if (part->data.size() != sizeof(float)) return folder.uneven(name, part->shape);
  float value;
  std::memcpy(&value, part->data.data(), sizeof value);
  if (!std::isfinite(value) || value == 0) {
    return format_error(fmt::format("{}: tensor '{}': expected a finite number other than 0", folder.file(), name),
                        name);
  }
  return value;
}

// E2M1 codes U8 [rows, in / 2], the even column in the lower nibble; E4M3 scales [rows, in / 16], all times `factor`.
Status add_nvfp4(FolderTensors& folder, const std::string& base, const std::string& codes_name, float factor) {
  RZ_TRY(const TensorPart* codes, folder.take(codes_name, {"U8"}));
  if (codes->shape.size() != 2 || codes->shape[1] % 32 != 0) return folder.uneven(codes_name, codes->shape);
  const uint64_t n_rows = codes->shape[0], n_cols = codes->shape[1] * 2;
  RZ_TRY(const TensorPart* scales, folder.take(base + ".weight_scale", {"F8_E4M3"}, {n_rows, n_cols / 16}));
  folder.add(base + ".weight", TypeId::kNVFP4, {n_rows, n_cols}, codes->data,
             make_packed_nvfp4(codes->data, scales->data, n_cols, factor));
  return {};
}

// compressed-tensors' "pack-quantized": weight_packed I32 [out, in * bits / 32], codes offset by 2^(bits - 1);
// weight_scale [out, groups]; weight_zero_point I32 [out * bits / 32, groups], with the same offset; weight_g_idx with
// act-order; weight_shape I64 [2].
Status bind_int_packed(FolderTensors& folder, const std::string& base) {
  RZ_TRY(const TensorPart* weight, folder.take(base + ".weight_packed", {"I32"}));
  RZ_TRY(const TensorPart* shape, folder.take(base + ".weight_shape", {"I64", "I32"}));
  RZ_TRY(const TensorPart* scales, folder.take(base + ".weight_scale", {"F16", "BF16", "F32"}));
  const std::string name = base + ".weight_packed";
  const uint64_t elem_bytes = shape->dtype == "I64" ? 8 : 4;
  if (weight->shape.size() != 2 || scales->shape.size() != 2 || shape->data.size() != 2 * elem_bytes) {
    return folder.uneven(name, weight->shape);
  }
  uint64_t n_cols = 0;
  std::memcpy(&n_cols, shape->data.data() + elem_bytes, elem_bytes);
  const uint64_t n_rows = weight->shape[0], n_words = weight->shape[1], n_groups = scales->shape[1];
  const uint64_t bits = n_cols > 0 && n_cols <= n_words * 32 ? n_words * 32 / n_cols : 0;
  if (bits != 4 && bits != 8) {
    return folder.refused(
        fmt::format("'{}': {} words for {} columns are neither 4 nor 8 bits each", name, n_words, n_cols));
  }
  if (n_cols * bits != n_words * 32 || scales->shape[0] != n_rows || pieces_of(n_cols, n_groups) == 0) {
    return folder.uneven(name, weight->shape);
  }
  const bool has_zeros = folder.find(base + ".weight_zero_point") != nullptr;
  PackedCodes codes{.name = base + ".weight", .type = TypeId::kF16};
  codes.n_rows = n_rows;
  codes.n_cols = n_cols;
  codes.n_groups = n_groups;
  codes.codes = {weight->data, static_cast<uint32_t>(bits), n_words, CodeGrid::Place::kBeside};
  codes.zero = 1u << (bits - 1);
  if (has_zeros) {
    if (n_rows * bits % 32 != 0) return folder.uneven(name, weight->shape);
    RZ_TRY(const TensorPart* zeros, folder.take(base + ".weight_zero_point", {"I32"}, {n_rows * bits / 32, n_groups}));
    codes.zeros = {zeros->data, static_cast<uint32_t>(bits), n_groups, CodeGrid::Place::kApart};
  }
  if (folder.find(base + ".weight_g_idx") != nullptr) {
    RZ_TRY(const TensorPart* order, folder.take(base + ".weight_g_idx", {"I32"}, {n_cols}));
    codes.column_group = order->data;
    folder.note("columns that act-order assigned to groups have no type: those weights are kept as F16");
  } else {
    codes.type = type_for(folder, static_cast<uint32_t>(bits), !has_zeros, n_cols, n_groups);
  }
  codes.scales = scales->data;
  codes.scale_type = scales->float_type();
  codes.scales_by_row = true;
  add_codes(folder, std::move(codes));
  return {};
}

// Signed bytes [out, in] with one scale, one per row, or one per row and group.
Status add_bytes(FolderTensors& folder, const std::string& base, const TensorPart& scales, float factor) {
  RZ_TRY(const TensorPart* weight, folder.take(base + ".weight", {"I8"}));
  if (weight->shape.size() != 2) return folder.uneven(base + ".weight", weight->shape);
  const uint64_t n_rows = weight->shape[0], n_cols = weight->shape[1];
  uint64_t n_scales = 1;
  for (const uint64_t dim : scales.shape) n_scales *= dim;
  const uint64_t n_groups = n_scales == 1 ? 1 : pieces_of(n_scales, n_rows);
  if (n_groups == 0 || pieces_of(n_cols, n_groups) == 0) return folder.uneven(base + ".weight", weight->shape);
  PackedCodes codes{.name = base + ".weight", .type = type_for(folder, 8, true, n_cols, n_groups)};
  codes.n_rows = n_rows;
  codes.n_cols = n_cols;
  codes.n_groups = n_groups;
  codes.codes = {weight->data, 8, n_cols, CodeGrid::Place::kBytes};
  codes.zero = 128;
  codes.scales = scales.data;
  codes.scale_type = scales.float_type();
  codes.scales_by_row = true;
  codes.scale_factor = factor;
  add_codes(folder, std::move(codes));
  return {};
}

// compressed-tensors (github.com/vllm-project/compressed-tensors): each matrix has the tensors of its own format.
Status bind_compressed_tensors(FolderTensors& folder) {
  for (const std::string& base : folder.bases(".weight_packed")) {
    const TensorPart& packed = *folder.find(base + ".weight_packed");
    if (packed.dtype == "I32") {
      RZ_CHECK_OK(bind_int_packed(folder, base));
    } else if (const TensorPart* scales = folder.find(base + ".weight_scale");
               scales != nullptr && scales->dtype == "U8") {
      RZ_TRY(const TensorPart* codes, folder.take(base + ".weight_packed", {"U8"}));
      if (codes->shape.size() != 2 || codes->shape[1] % 16 != 0)
        return folder.uneven(base + ".weight_packed", codes->shape);
      const uint64_t n_rows = codes->shape[0], n_cols = codes->shape[1] * 2;
      RZ_TRY(scales, folder.take(base + ".weight_scale", {"U8"}, {n_rows, n_cols / 32}));
      folder.add(base + ".weight", TypeId::kMXFP4, {n_rows, n_cols}, codes->data,
                 make_packed_mxfp4(codes->data, scales->data, n_cols));
    } else {
      RZ_TRY(const float divisor, single_float(folder, base + ".weight_global_scale"));
      RZ_CHECK_OK(add_nvfp4(folder, base, base + ".weight_packed", 1.0f / divisor));
    }
  }
  for (const std::string& base : folder.bases(".weight")) {
    const TensorPart& weight = *folder.find(base + ".weight");
    if (weight.dtype != "I8") continue;
    if (folder.find(base + ".weight_zero_point") != nullptr) {
      return folder.refused(fmt::format("'{}': bytes with zeros are not supported", base + ".weight_zero_point"));
    }
    RZ_TRY(const TensorPart* scales, folder.take(base + ".weight_scale", {"F16", "BF16", "F32"}));
    RZ_CHECK_OK(add_bytes(folder, base, *scales, 1.0f));
  }
  // Settings of quantized activations, which this program computes in another way.
  for (const std::string_view end : {".input_zero_point", ".output_zero_point", ".input_global_scale"}) {
    for (const std::string& base : folder.bases(end)) folder.drop(base + std::string(end));
  }
  return {};
}

Result<std::vector<float>> float_table(FolderTensors& folder, const std::string& name, uint64_t n) {
  RZ_TRY(const TensorPart* part, folder.take(name, {"F32"}));
  if (part->data.size() != n * sizeof(float)) return folder.uneven(name, part->shape);
  std::vector<float> values(n);
  std::memcpy(values.data(), part->data.data(), part->data.size());
  return values;
}

// bitsandbytes' Params4bit: the codes of all elements, row by row, in U8 [n / 2, 1]; quant_map F32 [16]; absmax of each
// `blocksize` elements, in F32 or (double quantization) in a byte with its own map and scales; and JSON that describes
// the matrix.
Status bind_bnb_4bit(FolderTensors& folder, const std::string& base, const std::string& state_name) {
  RZ_TRY(const TensorPart* state_part, folder.take(state_name, {"U8"}));
  RZ_TRY(
      const auto state,
      parse_json_object({reinterpret_cast<const char*>(state_part->data.data()), state_part->data.size()}, state_name));
  // 0 if it is not a valid block size.
  const auto block_size = [&](const char* key) -> uint64_t {
    const uint64_t size = state.contains(key) && state[key].is_number_unsigned() ? state[key].get<uint64_t>() : 0;
    return size <= uint64_t{1} << 32 ? size : 0;
  };
  const auto shape_json = state.value("shape", nlohmann::json());
  Shape shape;
  if (shape_json.is_array()) {
    for (const auto& dim : shape_json) shape.push_back(dim.is_number_unsigned() ? dim.get<uint64_t>() : 0);
  }
  const std::string name = base + ".weight";
  RZ_TRY(const TensorPart* codes, folder.take(name, {"U8"}));
  TableCodes table{.name = name};
  table.n_block_elems = block_size("blocksize");
  const bool is_sound = shape.size() == 2 && shape[0] > 0 && shape[1] > 0 && table.n_block_elems > 0 &&
                        shape[0] <= codes->data.size() * 2 / shape[1] &&
                        (shape[0] * shape[1] + 1) / 2 == codes->data.size();
  if (!is_sound) return folder.uneven(state_name, shape);
  table.n_cols = shape[1];
  table.codes = codes->data;
  RZ_TRY(table.levels, float_table(folder, name + ".quant_map", 16));
  const uint64_t n_blocks = (shape[0] * shape[1] + table.n_block_elems - 1) / table.n_block_elems;
  RZ_TRY(const TensorPart* scales, folder.take(name + ".absmax", {"U8", "F32"}, {n_blocks}));
  table.scales = scales->data;
  if (scales->dtype == "U8") {
    table.n_nested_blocks = block_size("nested_blocksize");
    const auto offset = state.value("nested_offset", nlohmann::json());
    if (table.n_nested_blocks == 0 || !offset.is_number()) return folder.uneven(state_name, shape);
    table.offset = offset.get<float>();
    RZ_TRY(table.nested_levels, float_table(folder, name + ".nested_quant_map", 256));
    RZ_TRY(table.nested_scales, float_table(folder, name + ".nested_absmax",
                                            (n_blocks + table.n_nested_blocks - 1) / table.n_nested_blocks));
  }
  folder.note("bitsandbytes' 4-bit levels have no type: those weights are kept as F16");
  folder.add(name, TypeId::kF16, shape, codes->data, make_packed_table(std::move(table)));
  return {};
}

// bitsandbytes: 4 bits with the state in separate tensors; 8 bits (LLM.int8) as bytes I8 [out, in] with SCB F32 [out],
// 127 times the scale.
Status bind_bitsandbytes(FolderTensors& folder) {
  for (const std::string_view kind : {"nf4", "fp4"}) {
    const std::string end = fmt::format(".weight.quant_state.bitsandbytes__{}", kind);
    for (const std::string& base : folder.bases(end)) RZ_CHECK_OK(bind_bnb_4bit(folder, base, base + end));
  }
  for (const std::string& base : folder.bases(".SCB")) {
    RZ_TRY(const TensorPart* scales, folder.take(base + ".SCB", {"F32"}));
    RZ_CHECK_OK(add_bytes(folder, base, *scales, 1.0f / 127.0f));
    folder.drop(base + ".weight_format");
  }
  return {};
}

// gpt-oss: x_blocks U8 [.., rows, in / 32, 16], the even column in the lower nibble; x_scales U8 [.., rows, in / 32].
// Rows hold inputs, unlike those of x in an unquantized model.
Status bind_mxfp4(FolderTensors& folder) {
  for (const std::string& base : folder.bases("_blocks")) {
    RZ_TRY(const TensorPart* blocks, folder.take(base + "_blocks", {"U8"}));
    if (blocks->shape.size() < 3 || blocks->shape.back() != 16) return folder.uneven(base + "_blocks", blocks->shape);
    Shape shape(blocks->shape.begin(), blocks->shape.end() - 1);
    RZ_TRY(const TensorPart* scales, folder.take(base + "_scales", {"U8"}, shape));
    shape.back() *= 32;
    const uint64_t n_cols = shape.back();
    folder.add(base, TypeId::kMXFP4, std::move(shape), blocks->data,
               make_packed_mxfp4(blocks->data, scales->data, n_cols));
  }
  return {};
}

// NVIDIA's Model Optimizer: NVFP4 as weight U8, weight_scale and a factor, weight_scale_2. Its FP8 needs no conversion.
Status bind_modelopt(FolderTensors& folder) {
  for (const std::string& base : folder.bases(".weight_scale_2")) {
    RZ_TRY(const float factor, single_float(folder, base + ".weight_scale_2"));
    RZ_CHECK_OK(add_nvfp4(folder, base, base + ".weight", factor));
  }
  return {};
}

TypeId ternary_type(uint64_t n_cols) {
  return n_cols % traits(TypeId::kTQ2_0).block_elems == 0 ? TypeId::kTQ2_0 : TypeId::kF16;
}

// BitNet (transformers, integrations/bitnet.py) before its weights are made ternary, which applies to all projections
// of layers.
Status bind_unrounded_bitnet(FolderTensors& folder) {
  for (const std::string& base : folder.bases("_proj.weight")) {
    const std::string name = base + "_proj.weight";
    RZ_TRY(const TensorPart* weight, folder.take(name, {"BF16", "F16", "F32"}));
    if (weight->shape.size() != 2) return folder.uneven(name, weight->shape);
    const uint64_t n_cols = weight->shape[1];
    folder.add(name, ternary_type(n_cols), weight->shape, weight->data,
               make_rounded_ternary({ternary_type(n_cols), weight->float_type(), n_cols, weight->data}));
  }
  return {};
}

// BitNet with ternary weights: weight U8 [out / 4, in] and weight_scale, one number that AutoBitLinear multiplies by
// and BitLinear divides by.
Status bind_bitnet(FolderTensors& folder) {
  RZ_TRY(const auto linear, folder.text("linear_class", "bitlinear"));
  RZ_TRY(const auto mode, folder.text("quantization_mode", "offline"));
  const bool is_auto = linear == "autobitlinear";
  if (!is_auto && linear != "bitlinear") {
    return folder.refused(fmt::format("linear_class '{}' is not supported (bitlinear and autobitlinear are)", linear));
  }
  if (is_auto && mode == "online") return bind_unrounded_bitnet(folder);
  if (mode != "offline") return folder.refused(fmt::format("quantization_mode '{}' is not supported", mode));
  for (const std::string& base : folder.bases(".weight_scale")) {
    RZ_TRY(const TensorPart* scale, folder.take(base + ".weight_scale", {"BF16", "F16", "F32"}));
    RZ_TRY(const TensorPart* weight, folder.take(base + ".weight", {"U8"}));
    const TypeTraits& type = traits(scale->float_type());
    if (scale->data.size() != type.block_bytes) return folder.uneven(base + ".weight_scale", scale->shape);
    if (weight->shape.size() != 2) return folder.uneven(base + ".weight", weight->shape);
    float factor = 0;
    type.decode(scale->data.data(), &factor, 1);
    if (!std::isfinite(factor) || factor == 0) return folder.uneven(base + ".weight_scale", scale->shape);
    TernaryCodes codes{.name = base + ".weight", .type = ternary_type(weight->shape[1])};
    codes.n_rows = 4 * weight->shape[0];
    codes.n_cols = weight->shape[1];
    codes.codes = weight->data;
    codes.factor = is_auto ? factor : 1 / factor;
    folder.add(codes.name, codes.type, {codes.n_rows, codes.n_cols}, weight->data, make_packed_ternary(codes));
  }
  return {};
}

Status bind_nothing(FolderTensors&) {
  return {};
}

struct Method {
  std::string_view name;
  Status (*bind)(FolderTensors& folder);
};
constexpr Method kMethods[] = {
    {"gptq", bind_gptq},         {"awq", bind_awq},           {"bitsandbytes", bind_bitsandbytes},
    {"mxfp4", bind_mxfp4},       {"modelopt", bind_modelopt}, {"compressed-tensors", bind_compressed_tensors},
    {"bitnet", bind_bitnet},     {"hqq", bind_hqq},           {"fp8", bind_nothing},
    {"fbgemm_fp8", bind_nothing}};

}  // namespace

Status bind_packed_matrices(const Metadata& config, std::string_view file, std::vector<TensorInfo>& tensors,
                            std::vector<RawTensor>& raws, std::vector<std::string>& notes) {
  FolderTensors folder(config, file, tensors, raws);
  RZ_TRY(std::string name, folder.text("quant_method", ""));
  // Older folders of ModelOpt declare it in another file, and folders saved by hqq itself do not declare it.
  if (name.empty() && !folder.bases(".weight_scale_2").empty()) name = "modelopt";
  if (name.empty() && !folder.bases(".W_q").empty()) name = "hqq";
  if (name.empty()) return {};
  const auto* method = std::ranges::find(kMethods, name, &Method::name);
  if (method == std::end(kMethods)) {
    std::vector<std::string_view> names;
    for (const Method& known : kMethods) names.push_back(known.name);
    return folder.refused(fmt::format("quant_method '{}' is not supported ({} are)", name, fmt::join(names, ", ")));
  }
  RZ_CHECK_OK(method->bind(folder));
  std::erase_if(tensors, [&](const TensorInfo& tensor) { return folder.is_taken(tensor.name); });
  std::erase_if(raws, [&](const RawTensor& raw) { return folder.is_taken(raw.name); });
  std::ranges::move(folder.made(), std::back_inserter(tensors));
  std::ranges::move(folder.notes(), std::back_inserter(notes));
  return {};
}

}  // namespace realizar
