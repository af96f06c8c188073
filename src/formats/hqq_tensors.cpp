#include "formats/hqq_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/try.h"
#include "formats/packed_layouts.h"
#include "quant/blocks.h"

namespace realizar {
namespace {

struct Width {
  float n_bits;  // "nbits"
  uint32_t max_code;
  std::string_view packing;
  std::string_view dtype;  // of the words that hold the codes
  uint32_t word_bytes, code_bits, n_places;
};
constexpr Width kWidths[] = {
    {8, 255, "8bit_u8", "U8", 1, 8, 1},   {6, 63, "8bit_u8", "U8", 1, 8, 1},  {5, 31, "8bit_u8", "U8", 1, 8, 1},
    {4, 15, "4bit_u8", "U8", 1, 4, 2},    {3, 7, "3bit_32", "I32", 4, 3, 10}, {2, 3, "2bit_u8", "U8", 1, 2, 4},
    {1.58f, 2, "2bit_u8", "U8", 1, 2, 4}, {1, 1, "1bit_u8", "U8", 1, 1, 8},
};

// "model.layers.3.self_attn.q_proj" is one of "self_attn.q_proj".
std::string tag_of(std::string_view base) {
  std::string tag;
  while (!base.empty()) {
    const std::string_view word = base.substr(0, base.find('.'));
    base.remove_prefix(std::min(base.size(), word.size() + 1));
    const bool is_number = std::ranges::all_of(word, [](char c) { return c >= '0' && c <= '9'; });
    if (is_number || word == "model" || word == "layers") continue;
    tag += (tag.empty() ? "" : ".") + std::string(word);
  }
  return tag;
}

// Reads the quantization settings of one matrix.
class Settings {
 public:
  Settings(FolderTensors& folder, const std::string& base) : folder_(folder), base_(base) {}

  Result<const Width*> width() {
    RZ_TRY(const auto n_bits, number("nbits"));
    if (!n_bits) return folder_.missing(base_ + ".nbits");
    const auto* width = std::ranges::find(kWidths, static_cast<float>(*n_bits), &Width::n_bits);
    if (width == std::end(kWidths)) {
      return folder_.refused(fmt::format("'{}': hqq of {} bits is not supported (1, 1.58, 2, 3, 4, 5, 6 and 8 are)",
                                         base_ + ".nbits", *n_bits));
    }
    if (folder_.find(base_ + ".packing") == nullptr) return width;
    RZ_TRY(const TensorPart* packing, folder_.take(base_ + ".packing", {"U8"}));
    const std::string_view letters(reinterpret_cast<const char*>(packing->data.data()), packing->data.size());
    if (letters == width->packing) return width;
    return folder_.refused(fmt::format("'{}': a packing of '{}' is not supported for {} bits ({} is)",
                                       base_ + ".packing", letters, *n_bits, width->packing));
  }

  Result<bool> is_axis_one() {
    RZ_TRY(const auto axis, number("axis"));
    if (!axis) return folder_.missing(base_ + ".axis");
    if (*axis == 0 || *axis == 1) return *axis == 1;
    return folder_.refused(fmt::format("'{}': an axis of {} is not supported (0 and 1 are)", base_ + ".axis", *axis));
  }

  // `whole`: the default if the config sets none.
  Result<uint64_t> group_size(uint64_t whole) {
    RZ_TRY(const auto size, number("group_size"));
    const bool is_in_config = folder_.find(base_ + ".nbits") == nullptr;
    if (!size && is_in_config) return whole;
    if (!size) return folder_.missing(base_ + ".group_size");
    if (*size >= 1 && *size <= kMaxDim && *size == std::floor(*size)) return static_cast<uint64_t>(*size);
    return folder_.refused(fmt::format("'{}': groups of {} are not supported", base_ + ".group_size", *size));
  }

  // [rows, columns]
  Result<std::vector<uint64_t>> shape() {
    const std::string name = base_ + ".shape";
    RZ_TRY(const TensorPart* part, folder_.take(name, {"I64", "I32"}, {2}));
    const size_t elem_bytes = part->data.size() / 2;
    std::vector<uint64_t> shape(2);
    for (size_t i = 0; i < 2; ++i) std::memcpy(&shape[i], part->data.data() + i * elem_bytes, elem_bytes);
    const bool is_sound = std::ranges::all_of(shape, [](uint64_t dim) { return dim >= 1 && dim <= kMaxDim; });
    if (!is_sound) return folder_.uneven(name, shape);
    return shape;
  }

  Result<bool> flag(const std::string& key, bool otherwise) {
    const std::string name = base_ + "." + key;
    if (folder_.find(name) == nullptr) return otherwise;
    RZ_TRY(const TensorPart* part, folder_.take(name, {"U8", "BOOL"}));
    if (part->data.size() != 1) return folder_.uneven(name, part->shape);
    return std::to_integer<int>(part->data[0]) != 0;
  }

 private:
  static constexpr uint64_t kMaxDim = (uint64_t{1} << 31) - 1;

  Result<std::optional<double>> number(const std::string& key) {
    const std::string name = base_ + "." + key;
    if (folder_.find(name) == nullptr) return number_in_config(key);
    RZ_TRY(const TensorPart* part, folder_.take(name, {"I32", "F32"}));
    if (part->data.size() != sizeof(int32_t)) return folder_.uneven(name, part->shape);
    int32_t whole;
    float real;
    std::memcpy(&whole, part->data.data(), sizeof whole);
    std::memcpy(&real, part->data.data(), sizeof real);
    return std::optional<double>(part->dtype == "I32" ? whole : real);
  }

  Result<std::optional<double>> number_in_config(const std::string& key) const {
    for (const std::string& entry : {base_ + ".", tag_of(base_) + ".", std::string()}) {
      RZ_TRY(const auto value, folder_.real(fmt::format("quant_config.{}weight_quant_params.{}", entry, key)));
      if (value) return value;
    }
    return std::optional<double>();
  }

  FolderTensors& folder_;
  const std::string& base_;
};

// hqq itself writes no quantized scales, but its config once had them.
Status check_plain(FolderTensors& folder, Settings& settings, const std::string& base) {
  for (const char* key : {"quant_scale", "quant_zero"}) {
    RZ_TRY(const bool is_quantized, settings.flag(key, false));
    if (is_quantized) {
      return folder.refused(fmt::format("'{}.{}': scales and zeros that are quantized are not supported", base, key));
    }
  }
  RZ_TRY(const bool is_channel_wise, settings.flag("channel_wise", true));
  if (is_channel_wise) return {};
  return folder.refused(fmt::format("'{}.channel_wise': one scale for all of a matrix is not supported", base));
}

// Words of codes; with `view_as_float` they are declared as floats with the same total size.
Status take_words(FolderTensors& folder, const std::string& base, const Width& width, bool is_float, HqqCodes& codes) {
  const std::string name = base + ".W_q";
  const TensorPart* part = folder.find(name);
  if (part == nullptr) return folder.missing(name);
  const uint64_t n_word_lines = (codes.n_lines + width.n_places - 1) / width.n_places;
  if (!is_float) {
    RZ_TRY(part, folder.take(name, {width.dtype}, {n_word_lines, codes.line_elems}));
  } else {
    const uint64_t elem_bytes = traits(part->float_type()).block_bytes;
    const uint64_t n_floats = pieces_of(codes.line_elems * width.word_bytes, elem_bytes);
    if (n_floats == 0) return folder.uneven(name, part->shape);
    RZ_TRY(part, folder.take(name, {"F16", "BF16", "F32"}, {n_word_lines, n_floats}));
  }
  codes.words = part->data;
  codes.bits = width.code_bits;
  codes.n_places = width.n_places;
  codes.max_code = width.max_code;
  return {};
}

Status take_numbers(FolderTensors& folder, const std::string& base, HqqCodes& codes) {
  std::vector<uint64_t> shape{codes.n_lines, 1};
  if (!codes.groups_are_lines) shape = {1, codes.line_elems};
  if (const TensorPart* both = folder.find(base + ".zero_scale"); both != nullptr) {
    shape.insert(shape.begin(), 2);
    RZ_TRY(both, folder.take(base + ".zero_scale", {"F16", "BF16", "F32"}, shape));
    codes.zeros = both->data.first(both->data.size() / 2);
    codes.scales = both->data.last(both->data.size() / 2);
    codes.number_type = both->float_type();
    return {};
  }
  RZ_TRY(const TensorPart* scales, folder.take(base + ".scale", {"F16", "BF16", "F32"}, shape));
  RZ_TRY(const TensorPart* zeros, folder.take(base + ".zero", {scales->dtype}, shape));
  codes.scales = scales->data;
  codes.zeros = zeros->data;
  codes.number_type = scales->float_type();
  return {};
}

// The type whose blocks can hold the codes unchanged; F16, with a note, if there is none.
TypeId type_for(FolderTensors& folder, const HqqCodes& codes) {
  if (!codes.groups_are_lines) {
    folder.note("groups of HQQ's axis 0 have no type: those weights are kept as F16");
    return TypeId::kF16;
  }
  if (codes.n_cols % kBlockElems != 0 || codes.line_elems % kBlockElems != 0) {
    folder.note("groups of columns that are no multiple of 32 have no type: those weights are kept as F16");
    return TypeId::kF16;
  }
  if (codes.max_code > 31) {
    folder.note("codes of 6 and 8 bits with zeros of their own have no type: those weights are kept as F16");
    return TypeId::kF16;
  }
  folder.note("HQQ's zeros are kept as their products with the scales, rounded to F16");
  if (codes.number_type == TypeId::kF32) folder.note("scales in F32 are rounded to F16");
  return codes.max_code > 15 ? TypeId::kQ5_1 : TypeId::kQ4_1;
}

Status bind_matrix(FolderTensors& folder, const std::string& base) {
  Settings settings(folder, base);
  RZ_CHECK_OK(check_plain(folder, settings, base));
  RZ_TRY(const Width* width, settings.width());
  RZ_TRY(std::vector<uint64_t> shape, settings.shape());
  RZ_TRY(const bool is_axis_one, settings.is_axis_one());
  RZ_TRY(const uint64_t group_size, settings.group_size(shape[is_axis_one ? 1 : 0]));
  RZ_TRY(const bool is_float, settings.flag("view_as_float", false));
  const uint64_t n_groups = pieces_of(shape[0] * shape[1], group_size);
  HqqCodes codes{.name = base + ".weight"};
  codes.n_cols = shape[1];
  codes.n_lines = is_axis_one ? n_groups : group_size;
  codes.line_elems = is_axis_one ? group_size : n_groups;
  codes.groups_are_lines = is_axis_one;
  const bool is_filled_up = width->code_bits == 3;
  if (n_groups == 0 || (!is_filled_up && codes.n_lines % width->n_places != 0)) {
    return folder.uneven(base + ".shape", shape);
  }
  RZ_CHECK_OK(take_words(folder, base, *width, is_float, codes));
  RZ_CHECK_OK(take_numbers(folder, base, codes));
  codes.type = type_for(folder, codes);
  std::string name = codes.name;
  const auto type = codes.type;
  const auto words = codes.words;
  folder.add(std::move(name), type, std::move(shape), words, make_packed_hqq(std::move(codes)));
  return {};
}

}  // namespace

Status bind_hqq(FolderTensors& folder) {
  for (const std::string& base : folder.bases(".W_q")) {
    RZ_CHECK_OK(bind_matrix(folder, base));
    // These do not affect the values.
    for (const char* key : {"unpack_view_dtype", "compute_dtype", "offload_meta", "encoded_state_dict",
                            "stores_quant_config", "optimize", "round_zero"}) {
      folder.drop(base + "." + key);
    }
  }
  return {};
}

}  // namespace realizar
