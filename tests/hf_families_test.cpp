// Families as Hugging Face has them: the weights of each conformance model in a folder, under the names, the order of
// rows and the config.json that transformers gives them, compute what the GGUF file computes.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "model/arch/list.h"
#include "model/config_reader.h"
#include "quant/blocks.h"
#include "quant/half.h"
#include "support/hf_families.h"
#include "support/made_model.h"
#include "support/npy.h"
#include "support/reference_logits.h"
#include "support/safetensors_writer.h"
#include "support/test_data.h"
#include "support/tiny_model.h"

namespace realizar {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

using Family = test::HfFamilyCase;

// A tensor's rows, of one element each where it is a vector.
struct Rows {
  std::vector<uint64_t> shape;
  std::vector<float> values;

  Rows in_order(const std::vector<uint32_t>& order) const {
    const size_t n = values.size() / shape[0];
    Rows rows{shape, {}};
    for (const uint32_t from : order) {
      rows.values.insert(rows.values.end(), values.begin() + from * n, values.begin() + (from + 1) * n);
    }
    return rows;
  }
};

// What GGUF has apart, and the tensor that it is in a folder.
struct Fusion {
  Role whole;
  std::vector<Role> parts;
  bool is_of_each = false;  // expert, or head
};
const Fusion kFusions[] = {
    {Role::kWqkv, {Role::kWq, Role::kWk, Role::kWv}},
    {Role::kBqkv, {Role::kBq, Role::kBk, Role::kBv}},
    {Role::kWkv, {Role::kWk, Role::kWv}},
    {Role::kWGateUp, {Role::kWGate, Role::kWUp}},
    {Role::kSharedGateUp, {Role::kSharedGate, Role::kSharedUp}},
    {Role::kExpertGateUp, {Role::kExpertGate, Role::kExpertUp}, true},
    {Role::kExpertGateUpBias, {Role::kExpertGateBias, Role::kExpertUpBias}, true},
    {Role::kLatentKv, {Role::kLatentK, Role::kLatentV}, true},
};

// What Hugging Face's folder has in the place of GGUF's file.
class HfWriter {
 public:
  // Some matrices in another type, or in F32 with the values that they have there.
  enum class Form { kF32, kMxfp4, kMxfp4InF32, kF8, kF8InF32 };

  HfWriter(const ModelFile& gguf, const ArchSpec& spec, const AttentionConfig& attention,
           const DeltaNetConfig& delta_net, Form form, std::string prefix, bool has_stacks, json config)
      : gguf_(gguf),
        spec_(spec),
        attention_(attention),
        delta_net_(delta_net),
        form_(form),
        prefix_(std::move(prefix)),
        has_stacks_(has_stacks),
        config_(std::move(config)) {}

  // A vector of further layers, which predict tokens further ahead.
  void add_left_out(const std::string& name) { weights_.add(name, "F32", {2}, std::as_bytes(std::span(kLeftOut))); }

  void write(const fs::path& path) {
    for (const TensorInfo& tensor : gguf_.tensors()) add(tensor);
    add_xielu();
    if (!prefix_.empty()) {
      const std::vector<float> values(4);
      weights_.add("vision_tower.patch_conv.weight", "F32", {2, 2}, std::as_bytes(std::span(values)));
      weights_.add("model.visual.pos_embed.weight", "F32", {2, 2}, std::as_bytes(std::span(values)));
    }
    weights_.write(path);
  }

 private:
  // Numbers that GGUF has as keys.
  void add_xielu() {
    const std::pair<Role, const char*> kNumbers[] = {{Role::kXieluAlphaP, "xielu.alpha_p"},
                                                     {Role::kXieluAlphaN, "xielu.alpha_n"},
                                                     {Role::kXieluBeta, "xielu.beta"},
                                                     {Role::kXieluEps, "xielu.eps"}};
    for (const auto& [role, key] : kNumbers) {
      const auto spec = std::ranges::find(spec_.tensors, role, &TensorSpec::role);
      if (spec == spec_.tensors.end()) continue;
      const auto number = static_cast<float>(gguf_.metadata().get_double(key)->value());
      for (const char* layer : {"0", "1"}) {
        std::string name(spec->hf);
        weights_.add(name.replace(name.find("{}"), 2, layer), "F32", {1}, std::as_bytes(std::span(&number, 1)));
      }
    }
  }

  void add(const TensorInfo& tensor) {
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    const auto digits = std::find_if(tensor.name.begin(), tensor.name.end(), is_digit);
    const auto end = std::find_if_not(digits, tensor.name.end(), is_digit);
    const std::string layer(digits, end);
    const std::string pattern =
        layer.empty() ? std::string(tensor.name)
                      : std::string(tensor.name.begin(), digits) + "{}" + std::string(end, tensor.name.end());
    const auto spec = std::ranges::find(spec_.tensors, pattern, &TensorSpec::gguf);
    ASSERT_NE(spec, spec_.tensors.end()) << tensor.name;
    if (spec->role == Role::kRopeFactors) return;  // config.json tells them
    if (spec->role == Role::kShifts && layer != "0") return add_shifts(tensor, layer);
    if (spec->role == Role::kBonusScale) return add_by_heads(tensor, layer);
    const auto is_in_hf = [&spec](const TensorSpec& t) {
      return t.role == spec->role && t.gguf.empty() && t.cols == Dim::kNone && spec->cols != Dim::kNone;
    };
    if (const auto other = std::ranges::find_if(spec_.tensors, is_in_hf); other != spec_.tensors.end()) {
      return add_flat(tensor, std::string(other->hf), layer);
    }
    Rows rows = as_in_hf({{tensor.shape.begin(), tensor.shape.end()}, *read_vector(tensor)}, spec->role);
    if (spec_.hf_has_multipliers) take_out_factors(rows, spec->role);
    take_out_ends_factors(rows, spec->role);
    if (spec_.hf_transposed_linear && is_turned_over(rows, spec->role)) rows = with_rows_as_columns(std::move(rows));
    if (const std::string name = hf_name(*spec); !name.empty()) return put(name, layer, std::move(rows));
    std::map<Role, Rows>& parts = parts_[layer];
    parts[spec->role] = std::move(rows);
    for (const Fusion& fusion : kFusions) {
      const auto has = [&parts](Role role) { return parts.contains(role); };
      if (!std::ranges::all_of(fusion.parts, has)) continue;
      const auto whole = std::ranges::find(spec_.tensors, fusion.whole, &TensorSpec::role);
      ASSERT_NE(whole, spec_.tensors.end()) << pattern;
      put(std::string(whole->hf), layer, fused(fusion, parts));
      for (const Role role : fusion.parts) parts.erase(role);
    }
  }

  // Where a family's folders have experts each apart or as stacks, the latter has a row of the table for folders alone.
  std::string hf_name(const TensorSpec& spec) const {
    const bool is_of_experts = spec.role >= Role::kExpertGate && spec.role <= Role::kExpertDown;
    if (!has_stacks_ || !is_of_experts) return std::string(spec.hf);
    const auto is_stack = [&spec](const TensorSpec& t) { return t.role == spec.role && t.gguf.empty(); };
    const auto stack = std::ranges::find_if(spec_.tensors, is_stack);
    return stack == spec_.tensors.end() ? "" : std::string(stack->hf);
  }

  void put(std::string name, const std::string& layer, Rows rows) {
    if (!layer.empty()) name.replace(name.find("{}"), 2, layer);
    name = prefix_ + name;
    // ERNIE's, which are a matrix of one row.
    if (name.find("moe_statics") != std::string::npos) rows.shape.insert(rows.shape.begin(), 1);
    const bool is_stack = rows.shape.size() == 3;
    if (is_stack && form_ == Form::kMxfp4) return put_mxfp4(name, rows);
    if (is_stack && form_ == Form::kMxfp4InF32) rows = in_mxfp4(rows);
    const bool is_flat = is_stack && spec_.hf_flat_experts;
    if (is_stack && (spec_.hf_transposed_experts || (is_flat && name.ends_with(".w2")))) rows = turned(rows);
    if (is_flat) rows.shape = {rows.shape[0] * rows.shape[1], rows.shape[2]};
    const size_t at = name.find("{}");
    if (at == std::string::npos) return put_one(name, rows);
    const std::vector<uint64_t> shape(rows.shape.begin() + 1, rows.shape.end());
    const size_t n = rows.values.size() / rows.shape[0];
    for (uint64_t i = 0; i < rows.shape[0]; ++i) {
      std::string own = name;
      weights_.add(own.replace(at, 2, std::to_string(i)), "F32", shape,
                   std::as_bytes(std::span(rows.values).subspan(i * n, n)));
    }
  }

  // A vector where GGUF has its parts as the rows of a matrix.
  void add_flat(const TensorInfo& tensor, std::string name, const std::string& layer) {
    const auto values = *read_vector(tensor);
    weights_.add(name.replace(name.find("{}"), 2, layer), "F32", {values.size()}, std::as_bytes(std::span(values)));
  }

  // RWKV's, a vector each; older folders have them in one tensor, as the first layer here.
  void add_shifts(const TensorInfo& tensor, const std::string& layer) {
    const auto values = *read_vector(tensor);
    const size_t n = values.size() / kRwkv7Mixes;
    for (uint32_t i = 0; i < kRwkv7Mixes; ++i) {
      const auto role = static_cast<Role>(static_cast<uint32_t>(Role::kShiftR) + i);
      std::string name(std::ranges::find(spec_.tensors, role, &TensorSpec::role)->hf);
      weights_.add(name.replace(name.find("{}"), 2, layer), "F32", {1, 1, n},
                   std::as_bytes(std::span(values).subspan(i * n, n)));
    }
  }

  void add_by_heads(const TensorInfo& tensor, const std::string& layer) {
    const auto values = *read_vector(tensor);
    const auto head_dim = static_cast<uint64_t>(gguf_.metadata().get_int("rwkv7.wkv.head_size")->value());
    std::string name = "model.layers." + layer + ".attn.r_k";
    weights_.add(name, "F32", {values.size() / head_dim, head_dim}, std::as_bytes(std::span(values)));
  }

  void put_one(const std::string& name, const Rows& rows) {
    const bool is_f8 = name.ends_with("kv_b_proj.weight") && (form_ == Form::kF8 || form_ == Form::kF8InF32);
    if (!is_f8) return weights_.add(name, "F32", rows.shape, std::as_bytes(std::span(rows.values)));
    // A scale for each block of 128 x 128: of these matrices one a block of rows.
    std::vector<float> scales, values(rows.values.size());
    std::vector<std::byte> codes(rows.values.size());
    for (uint64_t row = 0; row < rows.shape[0]; row += 128) scales.push_back(0.01f / static_cast<float>(1 + row / 128));
    for (size_t i = 0; i < values.size(); ++i) {
      const float scale = scales[i / rows.shape[1] / 128];
      const uint8_t code = float_to_f8_e4m3(rows.values[i] / scale);
      codes[i] = std::byte{code};
      values[i] = f8_e4m3_to_float(code) * scale;
    }
    if (form_ == Form::kF8InF32) return weights_.add(name, "F32", rows.shape, std::as_bytes(std::span(values)));
    weights_.add(name, "F8_E4M3", rows.shape, codes);
    weights_.add(name + "_scale_inv", "F32", {scales.size(), 1}, std::as_bytes(std::span(scales)));
  }

  static std::vector<BlockMXFP4> mxfp4_blocks(const Rows& rows) {
    std::vector<BlockMXFP4> blocks(rows.values.size() / 32);
    traits(TypeId::kMXFP4).encode(rows.values.data(), reinterpret_cast<std::byte*>(blocks.data()), rows.values.size());
    return blocks;
  }

  static Rows in_mxfp4(Rows rows) {
    const auto blocks = mxfp4_blocks(rows);
    traits(TypeId::kMXFP4)
        .decode(reinterpret_cast<const std::byte*>(blocks.data()), rows.values.data(), rows.values.size());
    return rows;
  }

  // Codes [.., in / 32, 16], the even column's the lower nibble, and scales [.., in / 32].
  void put_mxfp4(const std::string& name, const Rows& rows) {
    std::vector<std::byte> codes, scales;
    for (const BlockMXFP4& block : mxfp4_blocks(rows)) {
      const auto code = [&block](uint32_t i) { return i < 16 ? block.qs[i] & 15 : block.qs[i - 16] >> 4; };
      for (uint32_t i = 0; i < 32; i += 2) codes.push_back(static_cast<std::byte>(code(i) | code(i + 1) << 4));
      scales.push_back(static_cast<std::byte>(block.e));
    }
    std::vector<uint64_t> shape = rows.shape;
    shape.back() /= 32;
    weights_.add(name + "_scales", "U8", shape, scales);
    shape.push_back(16);
    weights_.add(name + "_blocks", "U8", shape, codes);
  }

  Rows fused(const Fusion& fusion, std::map<Role, Rows>& parts) const {
    const uint64_t n_wholes = fusion.is_of_each ? parts.at(fusion.parts[0]).shape[0] : 1;
    if (fusion.whole == Role::kLatentKv) parts[Role::kLatentK] = turned(parts[Role::kLatentK]);
    Rows whole{parts.at(fusion.parts[0]).shape, {}};
    uint64_t& n_rows = whole.shape[fusion.is_of_each ? 1 : 0];
    n_rows = 0;
    for (const Role role : fusion.parts) n_rows += parts.at(role).shape[fusion.is_of_each ? 1 : 0];
    for (uint64_t i = 0; i < n_wholes; ++i) {
      for (const Role role : fusion.parts) {
        const std::vector<float>& values = parts.at(role).values;
        const auto n = static_cast<ptrdiff_t>(values.size() / n_wholes), first = static_cast<ptrdiff_t>(i) * n;
        whole.values.insert(whole.values.end(), values.begin() + first, values.begin() + first + n);
      }
    }
    if (fusion.whole == Role::kWqkv && spec_.hf_qkv_rows == QkvRows::kByKvHead) return whole.in_order(by_kv_head());
    const bool is_gate_up = fusion.whole == Role::kExpertGateUp || fusion.whole == Role::kExpertGateUpBias;
    if (is_gate_up && spec_.hf_gate_up_rows == GateUpRows::kPaired) return paired(whole);
    // A latent's rows of all heads are one matrix.
    if (fusion.whole == Role::kLatentKv) whole.shape = {whole.shape[0] * whole.shape[1], whole.shape[2]};
    return whole;
  }

  // Each of a stack's matrices with its halves' rows in turn.
  static Rows paired(const Rows& rows) {
    const uint64_t n_rows = rows.shape[1], n = rows.values.size() / rows.shape[0] / n_rows;
    Rows result{rows.shape, {}};
    for (uint64_t i = 0; i < rows.shape[0] * n_rows; ++i) {
      const uint64_t row = i % n_rows, from = i - row + row / 2 + row % 2 * (n_rows / 2);
      const auto first = rows.values.begin() + static_cast<ptrdiff_t>(from * n);
      result.values.insert(result.values.end(), first, first + static_cast<ptrdiff_t>(n));
    }
    return result;
  }

  // Each of a stack's matrices turned over.
  static Rows turned(const Rows& rows) {
    const uint64_t n_rows = rows.shape[1], n_cols = rows.shape[2];
    Rows result{{rows.shape[0], n_cols, n_rows}, std::vector<float>(rows.values.size())};
    for (uint64_t i = 0; i < rows.values.size(); ++i) {
      const uint64_t mat = i / (n_rows * n_cols), row = i / n_cols % n_rows, col = i % n_cols;
      result.values[(mat * n_cols + col) * n_rows + row] = rows.values[i];
    }
    return result;
  }

  Rows as_in_hf(Rows rows, Role role) const {
    const bool is_norm = role == Role::kAttnNorm || role == Role::kFfnNorm || role == Role::kFinalNorm ||
                         role == Role::kQNorm || role == Role::kKNorm || role == Role::kAttnPostNorm ||
                         role == Role::kFfnPostNorm;
    if (is_norm && spec_.hf_norm_plus_one) {
      for (float& value : rows.values) value -= 1.0f;
    }
    if (role == Role::kSsmOut && spec_.gguf_key_heads_in_turn) rows = with_columns_by_key_head(rows);
    if (const auto n = rows_of_key_heads(role, rows.shape[0])) rows = rows.in_order(by_key_head(*n, rows.shape[0]));
    if (role == Role::kSsmA) {
      for (float& value : rows.values) value = std::log(-value);
    }
    if (role == Role::kSsmA || role == Role::kSsmD) std::erase(rows.shape, 1u);
    if (role == Role::kSsmConv) rows.shape.insert(rows.shape.begin() + 1, 1);
    const bool is_turned = spec_.gguf_interleaved_rope && !spec_.hf_interleaved_rope;
    if (is_turned && (role == Role::kWq || role == Role::kBq)) return rows.in_order(halves(attention_.n_heads));
    if (is_turned && (role == Role::kWk || role == Role::kBk)) return rows.in_order(halves(attention_.n_kv_heads));
    const bool is_fused = role == Role::kWqkv || role == Role::kBqkv;
    if (is_fused && spec_.hf_qkv_rows == QkvRows::kByKvHead) return rows.in_order(by_kv_head());
    return rows;
  }

  static bool is_turned_over(const Rows& rows, Role role) {
    return rows.shape.size() == 2 && role != Role::kEmbed && role != Role::kPositionEmbed && role != Role::kHead;
  }

  static Rows with_rows_as_columns(Rows rows) {
    rows.shape.insert(rows.shape.begin(), 1);
    rows = turned(rows);
    rows.shape.erase(rows.shape.begin());
    return rows;
  }

  // Jais': those of the embedding and of the logits.
  void take_out_ends_factors(Rows& rows, Role role) const {
    double factor = 1;
    if (role == Role::kEmbed) factor = config_.value("mup_embeddings_scale", 1.0);
    if (role == Role::kHead) factor = config_.value("mup_output_alpha", 1.0) * config_.value("mup_width_scale", 1.0);
    for (float& value : rows.values) value = static_cast<float>(value / factor);
  }

  // GGUF's weights have config.json's factors in them.
  void take_out_factors(Rows& rows, Role role) const {
    const auto number = [this](const char* key) { return config_.at(key).get<double>(); };
    const auto divide = [&](uint64_t first, uint64_t n, double factor) {
      const size_t n_cols = rows.values.size() / rows.shape[0];
      for (size_t i = first * n_cols; i < (first + n) * n_cols; ++i) {
        rows.values[i] = static_cast<float>(rows.values[i] / factor);
      }
    };
    const double attn_in = number("attention_in_multiplier"), scan_in = number("ssm_in_multiplier");
    const auto parts = config_.at("ssm_multipliers").get<std::vector<double>>();
    const auto ffn = config_.at("mlp_multipliers").get<std::vector<double>>();
    const std::map<Role, double> factors = {{Role::kEmbed, number("embedding_multiplier")},
                                            {Role::kHead, number("lm_head_multiplier")},
                                            {Role::kWq, attn_in},
                                            {Role::kWk, attn_in * number("key_multiplier")},
                                            {Role::kWv, attn_in},
                                            {Role::kWo, number("attention_out_multiplier")},
                                            {Role::kSsmOut, number("ssm_out_multiplier")},
                                            {Role::kWGate, ffn[0]},
                                            {Role::kWDown, ffn[1]}};
    if (const auto factor = factors.find(role); factor != factors.end()) divide(0, rows.shape[0], factor->second);
    if (role != Role::kSsmIn) return;
    const uint64_t n_inner = config_.at("mamba_d_ssm"), n_heads = config_.at("mamba_n_heads"),
                   n_group_cols =
                       config_.at("mamba_n_groups").get<uint64_t>() * config_.at("mamba_d_state").get<uint64_t>();
    const uint64_t sizes[] = {n_inner, n_inner, n_group_cols, n_group_cols, n_heads};
    uint64_t first = 0;
    for (size_t i = 0; i < parts.size(); first += sizes[i++]) divide(first, sizes[i], scan_in * parts[i]);
  }

  // How many of the rows come before those of the values' heads, where GGUF has the heads of a delta net in turn.
  std::optional<uint64_t> rows_of_key_heads(Role role, uint64_t n_rows) const {
    if (!spec_.gguf_key_heads_in_turn) return std::nullopt;
    const uint64_t n_keys = uint64_t{2} * delta_net_.n_keys();
    if (role == Role::kDeltaQkv || role == Role::kSsmConv) return n_keys;
    const bool is_of_values = n_rows == delta_net_.n_values() || n_rows == delta_net_.n_heads;
    const bool has_heads = role == Role::kDeltaGate || role == Role::kDeltaBeta || role == Role::kDeltaDecay ||
                           role == Role::kSsmA || role == Role::kSsmDtBias;
    return has_heads && is_of_values ? std::optional<uint64_t>(0) : std::nullopt;
  }

  // GGUF's row of each row: heads that share a key head are side by side.
  std::vector<uint32_t> by_key_head(uint64_t first, uint64_t n_rows) const {
    const auto n_heads = delta_net_.n_heads, n_keys = delta_net_.n_key_heads, n_each = n_heads / n_keys;
    const auto dim = static_cast<uint32_t>((n_rows - first) / n_heads);
    std::vector<uint32_t> order(n_rows);
    for (uint32_t row = 0; row < n_rows; ++row) {
      const auto at = static_cast<uint32_t>(row - first);
      const uint32_t head = at / dim, from = head % n_each * n_keys + head / n_each;
      order[row] = row < first ? row : static_cast<uint32_t>(first + from * dim + at % dim);
    }
    return order;
  }

  Rows with_columns_by_key_head(const Rows& rows) const {
    const auto order = by_key_head(0, rows.shape[1]);
    Rows turned = rows;
    for (size_t i = 0; i < rows.values.size(); ++i) {
      turned.values[i] = rows.values[i / order.size() * order.size() + order[i % order.size()]];
    }
    return turned;
  }

  // GGUF's row of each row: its pairs (2i, 2i + 1) are halves in Hugging Face's files.
  std::vector<uint32_t> halves(uint32_t n_heads) const {
    const uint32_t dim = attention_.head_dim, n_rot = attention_.n_interleaved;
    std::vector<uint32_t> order(n_heads * dim);
    for (uint32_t row = 0; row < order.size(); ++row) {
      const uint32_t i = row % dim;
      order[row] = i >= n_rot ? row : row - i + (i < n_rot / 2 ? 2 * i : 2 * (i - n_rot / 2) + 1);
    }
    return order;
  }

  std::vector<uint32_t> by_kv_head() const {
    const uint32_t dim = attention_.head_dim, n_q = attention_.n_heads * dim, n_kv = attention_.n_kv_heads * dim;
    const uint32_t unit = n_q / attention_.n_kv_heads;
    std::vector<uint32_t> order;
    for (uint32_t h = 0; h < attention_.n_kv_heads; ++h) {
      for (uint32_t i = 0; i < unit; ++i) order.push_back(h * unit + i);
      for (uint32_t i = 0; i < dim; ++i) order.push_back(n_q + h * dim + i);
      for (uint32_t i = 0; i < dim; ++i) order.push_back(n_q + n_kv + h * dim + i);
    }
    return order;
  }

  const ModelFile& gguf_;
  const ArchSpec& spec_;
  const AttentionConfig attention_;
  const DeltaNetConfig delta_net_;
  const Form form_;
  const std::string prefix_;
  const bool has_stacks_;
  const json config_;
  static constexpr float kLeftOut[] = {1, 2};
  std::map<std::string, std::map<Role, Rows>> parts_;  // of a layer, until all of a fused tensor are there
  test::SafetensorsWriter weights_;
};

// The first of its "architectures". Some of these files have words that JSON does not have.
std::string hf_class_of(std::string_view config) {
  const size_t list = config.find('[', config.find("architectures")), first = config.find('"', list) + 1;
  return std::string(config.substr(first, config.find('"', first) - first));
}

// The row of the table that a folder of the model's weights is read by: the file's own, or one for folders alone.
const ArchSpec& folder_spec(const ModelFile& gguf, const std::string& hf_class) {
  const auto has_class = [&](const ArchSpec& spec) {
    return std::ranges::find(spec.hf_classes, hf_class) != spec.hf_classes.end();
  };
  const ArchSpec& own = **find_architecture(gguf);
  if (has_class(own)) return own;
  const auto specs = all_architectures();
  const auto other = std::ranges::find_if(specs, [&](const ArchSpec* spec) { return has_class(*spec); });
  return other == specs.end() ? own : **other;
}

// The folder of a conformance model, in the test's own folder for temporary files.
class Folder {
 public:
  explicit Folder(const std::string& name)
      : path_(fs::path(testing::TempDir()) / ("realizar_hf_" + name + std::to_string(::getpid()))) {
    fs::create_directories(path_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path_); }

  void write(const ModelFile& gguf, const std::string& config, HfWriter::Form form = HfWriter::Form::kF32,
             const std::string& prefix = "", bool has_stacks = false) const {
    const auto read = read_config(gguf);
    ASSERT_TRUE(read.ok()) << read.error().message;
    const ArchSpec& spec = folder_spec(gguf, hf_class_of(config));
    AttentionConfig attention;
    DeltaNetConfig delta_net;
    for (const LayerConfig& layer : read->layers) {
      if (const auto* own = std::get_if<AttentionConfig>(&layer.mixer)) attention = *own;
      if (const auto* own = std::get_if<DeltaNetConfig>(&layer.mixer)) delta_net = *own;
    }
    // An infinity in it is none of JSON's numbers: such a config has no factors.
    const json parsed = json::parse(config, nullptr, false);
    HfWriter writer(gguf, spec, attention, delta_net, form, prefix, has_stacks,
                    parsed.is_discarded() ? json::object() : parsed);
    if (config.find("num_nextn_predict_layers") != std::string::npos) {
      writer.add_left_out("model.layers." + std::to_string(read->n_layers) + ".eh_proj.weight");
    }
    if (!spec.hf_left_out.empty()) writer.add_left_out(std::string(spec.hf_left_out) + "linear_proj.0.weight");
    if (config.find("lora_adaptations") != std::string::npos) {
      writer.add_left_out("roberta.pooler.dense.parametrizations.weight.0.lora_A");
      writer.add_left_out("roberta.encoder.layers.1.mixer.Wqkv.parametrizations.weight.0.lora_B");
    }
    writer.write(path_ / "model.safetensors");
    std::ofstream(path_ / "config.json") << config;
  }

  // A further tensor.
  void add(const std::string& name, const std::vector<uint64_t>& shape, const std::vector<float>& values) const {
    test::SafetensorsWriter weights;
    const auto file = ModelFile::open(path_);
    ASSERT_TRUE(file.ok()) << file.error().message;
    for (const TensorInfo& tensor : file->tensors()) {
      weights.add(std::string(tensor.name), "F32", {tensor.shape.begin(), tensor.shape.end()}, tensor.data);
    }
    weights.add(name, "F32", shape, std::as_bytes(std::span(values)));
    fs::remove(path_ / "model.safetensors");  // the map keeps it
    weights.write(path_ / "model.safetensors");
  }

  const fs::path& path() const { return path_; }
  std::vector<float> logits() const {
    const auto file = ModelFile::open(path_);
    EXPECT_TRUE(file.ok()) << file.error().message;
    return file.ok() ? test::reference_logits(*file) : std::vector<float>();
  }

 private:
  const fs::path path_;
};

Result<ModelFile> conformance_model(std::string_view name) {
  return test::open_conformance(test::source_file("tests/data/conformance"), std::string(name));
}

json config_of(std::string_view name) {
  return json::parse(std::ranges::find(test::hf_families(), name, &Family::name)->config);
}

void expect_near(const std::vector<float>& actual, const std::vector<float>& expected, float share) {
  ASSERT_EQ(actual.size(), expected.size());
  ASSERT_FALSE(expected.empty());
  const auto [low, high] = std::minmax_element(expected.begin(), expected.end());
  for (size_t i = 0; i < actual.size(); ++i) ASSERT_NEAR(actual[i], expected[i], share * (*high - *low)) << i;
}

class HfFamily : public testing::TestWithParam<Family> {};

TEST_P(HfFamily, HasTheLogitsOfTheGgufFile) {
  const auto gguf = conformance_model(GetParam().name);
  ASSERT_TRUE(gguf.ok()) << gguf.error().message;
  const Folder folder(std::string(GetParam().name) + GetParam().prefix);
  folder.write(*gguf, GetParam().config, HfWriter::Form::kF32, GetParam().prefix, GetParam().has_stacks);
  expect_near(folder.logits(), test::reference_logits(*gguf), GetParam().tolerance);
}

INSTANTIATE_TEST_SUITE_P(Families, HfFamily, testing::ValuesIn(test::hf_families().begin(), test::hf_families().end()),
                         [](const auto& test) {
                           std::string name = std::string(test.param.name) + "_" + hf_class_of(test.param.config);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

// Baichuan 2's folders have the same weights but for the head, whose rows they divide by their lengths: so are the
// logits.
TEST(HfBaichuan2, RowsOfTheHeadAreDividedByTheirLengths) {
  for (const char* name : {"baichuan", "baichuan-13b"}) {
    const auto gguf = conformance_model(name);
    ASSERT_TRUE(gguf.ok()) << gguf.error().message;
    const TensorInfo& head = *gguf->find("output.weight");
    const std::vector<float> rows = *read_vector(head);
    std::vector<float> expected = test::reference_logits(*gguf);
    const size_t n_vocab = head.shape[0], n_cols = head.shape[1];
    for (size_t i = 0; i < expected.size(); ++i) {
      double squares = 0;
      for (size_t col = 0; col < n_cols; ++col) squares += std::pow(rows[i % n_vocab * n_cols + col], 2);
      expected[i] = static_cast<float>(expected[i] / std::sqrt(squares));
    }
    json config = config_of(name);
    config["architectures"] = {"BaichuanForCausalLM"};
    config["vocab_size"] = 125696;
    const Folder folder(std::string(name) + "_2");
    folder.write(*gguf, config.dump());
    expect_near(folder.logits(), expected, 1e-4f);
  }
}

TEST(HfChatGlm, TheBaseOfTheRotationIsMultipliedOrPositionsAreDivided) {
  const auto gguf = conformance_model("chatglm");
  ASSERT_TRUE(gguf.ok()) << gguf.error().message;
  const auto config_with = [&](const json& settings) {
    json config = json::parse(std::ranges::find_if(test::hf_families(), [](const Family& family) {
                                return hf_class_of(family.config) == "ChatGLMModel";
                              })->config);
    config.update(settings);
    const Folder folder("chatglm_ratio");
    folder.write(*gguf, config.dump());
    const auto file = ModelFile::open(folder.path());
    EXPECT_TRUE(file.ok()) << file.error().message;
    return read_config(*file);
  };
  const auto stretched = config_with({{"rope_ratio", 5}});
  ASSERT_TRUE(stretched.ok()) << stretched.error().message;
  EXPECT_FLOAT_EQ(stretched->ropes[0].inv_freq[1], 1 / std::sqrt(50000.0f));
  const auto divided = config_with({{"rope_ratio", 5}, {"_name_or_path", "THUDM/chatglm2-6b-32k"}});
  ASSERT_TRUE(divided.ok()) << divided.error().message;
  EXPECT_FLOAT_EQ(divided->ropes[0].inv_freq[0], 1 / 5.0f);
  EXPECT_FLOAT_EQ(divided->ropes[0].inv_freq[1], 1 / (5.0f * std::sqrt(10000.0f)));
  EXPECT_TRUE(config_with({{"_name_or_path", "THUDM/chatglm2-6b"}}).ok());
  EXPECT_FALSE(config_with({{"position_encoding_2d", true}}).ok()) << "the first ChatGLM";
}

// With the settings and the logits of tests/peers/phimoe_oracle.py: GGUF files of the family are computed otherwise.
TEST(HfPhiMoe, FoldersHaveTheLogitsOfTheirOwnFormulas) {
  const auto gguf = conformance_model("phimoe");
  ASSERT_TRUE(gguf.ok()) << gguf.error().message;
  const Folder folder("phimoe");
  folder.write(*gguf, R"({"architectures": ["PhiMoEForCausalLM"], "hidden_size": 32, "intermediate_size": 16,
                          "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
                          "max_position_embeddings": 64, "rms_norm_eps": 0.001, "hidden_act": "silu",
                          "rope_theta": 10000.0, "rope_scaling": {"type": "longrope", "short_factor": [1, 1, 1, 1],
                          "long_factor": [1.0, 1.5, 2.0, 4.0], "short_mscale": 1.1, "long_mscale": 1.25,
                          "original_max_position_embeddings": 32}, "sliding_window": 20, "num_local_experts": 6,
                          "num_experts_per_tok": 2, "router_jitter_noise": 0.3, "input_jitter_noise": 0.1,
                          "attention_bias": true, "lm_head_bias": true, "tie_word_embeddings": false})");
  const fs::path data = test::source_file("tests/data/conformance");
  std::ifstream tokens(data / "phimoe.tokens.json");
  const std::vector<int> ids = json::parse(tokens);
  const std::vector<float> expected = test::read_npy(data / "phimoe-folder.logits.npy");
  const auto file = ModelFile::open(folder.path());
  ASSERT_TRUE(file.ok()) << file.error().message;
  auto driver = test::StepDriver::open(*file, make_reference_backend(), 64);
  ASSERT_TRUE(driver.ok()) << driver.error().message;
  const auto logits = (*driver)->run(ids, 40, 16);
  ASSERT_TRUE(logits.ok()) << logits.error().message;
  const auto last = std::span(*logits).last(expected.size());
  expect_near({last.begin(), last.end()}, expected, 1e-5f);
}

// Jina's names for RoBERTa's tensors.
std::string in_jinas_names(std::string name) {
  for (const auto& [roberta, jina] :
       {std::pair("encoder.layer.", "encoder.layers."), std::pair("embeddings.LayerNorm", "emb_ln"),
        std::pair("attention.output.dense", "mixer.out_proj"), std::pair("attention.output.LayerNorm", "norm1"),
        std::pair("intermediate.dense", "mlp.fc1"), std::pair("output.dense", "mlp.fc2"),
        std::pair("output.LayerNorm", "norm2")}) {
    const size_t at = name.find(roberta);
    if (at != std::string::npos) name.replace(at, std::strlen(roberta), jina);
  }
  return name;
}

// What is in a matrix, or a vector, of the rows of q, k and v in turn.
class FusedQkv {
 public:
  // Whether it takes the tensor, and adds the whole when it has all of it.
  bool take(const std::string& name, const std::vector<uint64_t>& shape, const std::vector<float>& values,
            test::SafetensorsWriter& weights) {
    constexpr std::string_view kParts[] = {"query", "key", "value"}, kSelf = "attention.self.";
    const size_t at = name.find(kSelf);
    if (at == std::string::npos) return false;
    const std::string end = name.substr(name.find('.', at + kSelf.size()));
    const std::string whole = in_jinas_names(name.substr(0, at)) + "mixer.Wqkv" + end;
    for (size_t i = 0; i < std::size(kParts); ++i) {
      if (name.substr(at + kSelf.size()).starts_with(kParts[i])) parts_[whole][i] = values;
    }
    if (parts_[whole].size() < std::size(kParts)) return true;
    std::vector<float> all;
    for (const auto& [i, part] : parts_[whole]) all.insert(all.end(), part.begin(), part.end());
    std::vector<uint64_t> fused_shape = shape;
    fused_shape[0] *= std::size(kParts);
    weights.add(whole, "F32", fused_shape, std::as_bytes(std::span(all)));
    return true;
  }

 private:
  std::map<std::string, std::map<size_t, std::vector<float>>> parts_;
};

enum class CrossEncoder { kBert, kRoberta, kJinas };

// A cross-encoder's folder: BERT's; or RoBERTa's, whose first position is the third row of the table, and whose head
// has other names; or Jina's RoBERTa.
void write_cross_encoder(const ModelFile& gguf, const fs::path& path, CrossEncoder kind) {
  const bool is_roberta = kind != CrossEncoder::kBert;
  test::SafetensorsWriter weights;
  FusedQkv qkv;
  for (const TensorInfo& tensor : gguf.tensors()) {
    std::string pattern(tensor.name), layer;
    if (const size_t at = pattern.find('.'); pattern.starts_with("blk.")) {
      layer = pattern.substr(at + 1, 1);
      pattern.replace(at + 1, 1, "{}");
    }
    const auto& specs = kBert.tensors;
    const auto spec = std::ranges::find(specs, pattern, &TensorSpec::gguf);
    ASSERT_NE(spec, specs.end()) << pattern;
    std::string name(spec->hf);
    if (!layer.empty()) name.replace(name.find("{}"), 2, layer);
    std::vector<uint64_t> shape(tensor.shape.begin(), tensor.shape.end());
    std::vector<float> values = *read_vector(tensor);
    if (is_roberta) {
      for (const auto& [bert, roberta] :
           {std::pair("bert.pooler.dense", "classifier.dense"),
            std::pair("classifier.weight", "classifier.out_proj.weight"),
            std::pair("classifier.bias", "classifier.out_proj.bias"), std::pair("bert.", "roberta.")}) {
        if (!name.starts_with(bert)) continue;
        name.replace(0, std::strlen(bert), roberta);
        break;
      }
    }
    if (is_roberta && spec->role == Role::kPositionEmbed) {
      values.insert(values.begin(), 2 * shape[1], 100.0f);
      shape[0] += 2;
    }
    if (kind == CrossEncoder::kJinas) {
      if (qkv.take(name, shape, values, weights)) continue;
      name = in_jinas_names(name);
    }
    weights.add(name, "F32", shape, std::as_bytes(std::span(values)));
  }
  weights.write(path / "model.safetensors");
  json config = config_of("bert");
  config["architectures"] = {is_roberta ? "XLMRobertaForSequenceClassification" : "BertForSequenceClassification"};
  if (is_roberta) config["max_position_embeddings"] = 66;
  std::ofstream(path / "config.json") << config;
}

TEST(HfEncoders, CrossEncodersHaveTheScoresOfTheGgufFile) {
  const auto gguf = conformance_model("bert-rank");
  ASSERT_TRUE(gguf.ok()) << gguf.error().message;
  for (const CrossEncoder kind : {CrossEncoder::kBert, CrossEncoder::kRoberta, CrossEncoder::kJinas}) {
    const Folder folder("cross_encoder_" + std::to_string(static_cast<int>(kind)));
    write_cross_encoder(*gguf, folder.path(), kind);
    expect_near(folder.logits(), test::reference_logits(*gguf), 1e-4f);
  }
}

// Jina's first rerankers: a pooler and the scores of what it gives. GGUF has no pooler, so that these are computed here
// from the states.
TEST(HfEncoders, JinasRerankersScoreWhatTheirPoolerGives) {
  const auto gguf = conformance_model("jina-bert-v2");
  ASSERT_TRUE(gguf.ok()) << gguf.error().message;
  constexpr size_t kWidth = 32;
  std::mt19937 random(3);
  const auto some = [&random](size_t n) {
    std::vector<float> values(n);
    for (float& value : values) value = (static_cast<float>(random() >> 8) * 0x1p-23f - 1.0f) * 0.4f;
    return values;
  };
  const auto pooler = some(kWidth * kWidth), pooler_bias = some(kWidth), score = some(kWidth), score_bias = some(1);
  const Folder folder("jina_reranker");
  folder.write(*gguf, config_of("jina-bert-v2").dump());
  const std::vector<float> states = folder.logits();
  ASSERT_EQ(states.size(), 48 * kWidth);
  folder.add("bert.pooler.dense.weight", {kWidth, kWidth}, pooler);
  folder.add("bert.pooler.dense.bias", {kWidth}, pooler_bias);
  folder.add("classifier.weight", {1, kWidth}, score);
  folder.add("classifier.bias", {1}, score_bias);
  std::vector<float> expected;
  for (size_t row = 0; row < 48; ++row) {
    double sum = score_bias[0];
    for (size_t i = 0; i < kWidth; ++i) {
      double pooled = pooler_bias[i];
      for (size_t j = 0; j < kWidth; ++j) pooled += double{pooler[i * kWidth + j]} * states[row * kWidth + j];
      sum += score[i] * std::tanh(pooled);
    }
    expected.push_back(static_cast<float>(sum));
  }
  expect_near(folder.logits(), expected, 1e-4f);
}

// Files of GGUF's newer converters.
TEST(GgufEncoders, JinasGateAndUpMayBeOneMatrix) {
  test::TinyModel model = test::tiny_model(kJinaBertV2);
  const auto apart = model.open();
  ASSERT_TRUE(apart.ok()) << apart.error().message;
  for (const std::string layer : {"blk.0.", "blk.1."}) {
    const std::vector<float> up = model.tensor(layer + "ffn_up.weight").values;
    test::TinyTensor& fused = model.tensor(layer + "ffn_gate.weight");
    fused.values.insert(fused.values.end(), up.begin(), up.end());
    fused.shape[0] *= 2;
    std::erase_if(model.tensors,
                  [&](const test::TinyTensor& tensor) { return tensor.name == layer + "ffn_up.weight"; });
    model.tensor(layer + "ffn_gate.weight").name = layer + "ffn_up.weight";
  }
  const auto together = model.open();
  ASSERT_TRUE(together.ok()) << together.error().message;
  EXPECT_EQ(test::reference_logits(*together), test::reference_logits(*apart));
}

// A row without its mean and its deviation.
std::vector<float> normed(std::span<const float> row, float eps) {
  double mean = 0, variance = 0;
  for (const float x : row) mean += x / static_cast<double>(row.size());
  for (const float x : row) variance += (x - mean) * (x - mean) / static_cast<double>(row.size());
  std::vector<float> result;
  for (const float x : row) result.push_back(static_cast<float>((x - mean) / std::sqrt(variance + eps)));
  return result;
}

// What Nomic's experts give together has a bias, which has no weight of theirs; GGUF lacks it. Here the last layer's
// experts give nothing else, and its norms are plain: its output is then the norm of what the experts read, which is
// normalized already, and with a bias the norm of their sum.
TEST(HfEncoders, WhatNomicsExpertsGiveHasABias) {
  constexpr size_t kWidth = 32;
  constexpr float kEps = 1e-3f;
  test::TinyModel model =
      test::tiny_model(kNomicBertMoe, false, {.n_kv_heads = 4, .expert_d_ff = 48, .expert_interval = 2});
  std::ranges::fill(model.tensor("blk.1.ffn_down_exps.weight").values, 0.0f);
  for (const std::string norm : {"blk.1.attn_output_norm", "blk.1.layer_output_norm"}) {
    std::ranges::fill(model.tensor(norm + ".weight").values, 1.0f);
    std::ranges::fill(model.tensor(norm + ".bias").values, 0.0f);
  }
  const auto gguf = model.open();
  ASSERT_TRUE(gguf.ok()) << gguf.error().message;
  const Folder folder("nomic_moe_bias");
  folder.write(*gguf, config_of("nomic-bert-moe").dump());
  const std::vector<float> plain = folder.logits();
  ASSERT_EQ(plain.size(), 48 * kWidth);
  std::vector<float> bias(kWidth), expected;
  for (size_t i = 0; i < kWidth; ++i) bias[i] = 0.1f * static_cast<float>(i % 7) - 0.2f;
  folder.add("encoder.layers.1.mlp.experts.bias", {kWidth}, bias);
  for (size_t row = 0; row < 48; ++row) {
    std::vector<float> sum(kWidth);
    for (size_t i = 0; i < kWidth; ++i) sum[i] = plain[row * kWidth + i] * std::sqrt(1 + kEps) + bias[i];
    const std::vector<float> own = normed(sum, kEps);
    expected.insert(expected.end(), own.begin(), own.end());
  }
  expect_near(folder.logits(), expected, 1e-3f);
}

// What a vector is made of stands in a folder of sentence-transformers.
TEST(HfEncoders, PoolingIsAsSentenceTransformersSay) {
  const auto gguf = conformance_model("bert");
  ASSERT_TRUE(gguf.ok()) << gguf.error().message;
  const Folder folder("pooling");
  folder.write(*gguf, config_of("bert").dump());
  const auto pooling = [&folder](const char* text) {
    fs::create_directories(folder.path() / "1_Pooling");
    std::ofstream(folder.path() / "1_Pooling" / "config.json") << text;
    const auto file = ModelFile::open(folder.path());
    EXPECT_TRUE(file.ok()) << file.error().message;
    const auto config = read_config(*file);
    return config.ok() ? config->pooling : Pooling::kNone;
  };
  EXPECT_EQ(pooling("{}"), Pooling::kMean);
  EXPECT_EQ(pooling(R"({"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false})"), Pooling::kFirst);
  EXPECT_EQ(pooling(R"({"pooling_mode_mean_tokens": true})"), Pooling::kMean);
  EXPECT_EQ(pooling(R"({"pooling_mode_lasttoken": true})"), Pooling::kLast);
  EXPECT_EQ(pooling(R"({"pooling_mode_max_tokens": true})"), Pooling::kNone) << "which is refused";
  EXPECT_EQ(pooling(R"({"pooling_mode_mean_tokens": true, "pooling_mode_cls_token": true})"), Pooling::kNone);
}

// A quantized folder has the logits of its values in F32. A product of other types adds in another order.
void expect_same(std::string_view name, const json& settings, HfWriter::Form packed, HfWriter::Form plain) {
  const auto gguf = conformance_model(name);
  ASSERT_TRUE(gguf.ok()) << gguf.error().message;
  const Folder quantized(std::string(name) + "_quantized"), in_f32(std::string(name) + "_f32");
  json config = config_of(name);
  in_f32.write(*gguf, config.dump(), plain);
  config.update(settings);
  quantized.write(*gguf, config.dump(), packed);
  expect_near(quantized.logits(), in_f32.logits(), 1e-6f);
}

TEST(HfQuantizedFamily, ExpertsOfGptOssAreMxfp4InTwoTensors) {
  expect_same("gpt-oss", {{"quantization_config", {{"quant_method", "mxfp4"}}}}, HfWriter::Form::kMxfp4,
              HfWriter::Form::kMxfp4InF32);
}

TEST(HfQuantizedFamily, KeysAndValuesOfDeepseeksLatentsAreF8WithScales) {
  expect_same("deepseek2-mla", {{"quantization_config", {{"quant_method", "fp8"}}}}, HfWriter::Form::kF8,
              HfWriter::Form::kF8InF32);
}

}  // namespace
}  // namespace realizar
