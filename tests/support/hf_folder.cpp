#include "support/hf_folder.h"
#include "base/result_checks.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "model/arch/list.h"
#include "model/config_reader.h"
#include "quant/blocks.h"
#include "quant/half.h"
#include "support/logits.h"
#include "support/safetensors_writer.h"

namespace realizar::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// A tensor's rows, of one element each for a vector.
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

// Tensors that are separate in GGUF and one in a folder.
struct Fusion {
  Role whole;
  std::vector<Role> parts;
  bool is_of_each = false;  // per expert, or per head
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

// Converts a GGUF file's tensors to those of a Hugging Face folder.
class HfWriter {
 public:
  using Form = HfFolderForm;

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
  // Numbers that are keys in GGUF.
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
    if (spec->role == Role::kRopeFactors) return;  // these are in config.json
    if (spec->role == Role::kShifts && layer != "0") return add_shifts(tensor, layer);
    if (spec->role == Role::kBonusScale) return add_by_heads(tensor, layer);
    const auto is_in_hf = [&spec](const TensorSpec& t) {
      return t.role == spec->role && t.gguf.empty() && t.cols == Dim::kNone && spec->cols != Dim::kNone;
    };
    if (const auto other = std::ranges::find_if(spec_.tensors, is_in_hf); other != spec_.tensors.end()) {
      return add_flat(tensor, std::string(other->hf), layer);
    }
    Rows rows = as_in_hf({{tensor.shape.begin(), tensor.shape.end()}, *read_vector(tensor)}, spec->role);
    if (&spec_ == &kFalconH1) take_out_factors(rows, spec->role);
    take_out_ends_factors(rows, spec->role);
    if (spec_.hf_transposes_linear() && is_turned_over(rows, spec->role)) rows = with_rows_as_columns(std::move(rows));
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

  // If a family's folders have experts either separately or as stacks, the latter has a row of the table only for
  // folders.
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
    // ERNIE's are a matrix of one row.
    if (name.find("moe_statics") != std::string::npos) rows.shape.insert(rows.shape.begin(), 1);
    const bool is_stack = rows.shape.size() == 3;
    if (is_stack && form_ == Form::kMxfp4) return put_mxfp4(name, rows);
    if (is_stack && form_ == Form::kMxfp4InF32) rows = in_mxfp4(rows);
    const bool is_flat = is_stack && spec_.hf_has_flat_experts();
    if (is_stack && (spec_.hf_transposes_experts() || (is_flat && name.ends_with(".w2")))) rows = turned(rows);
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

  // A vector whose parts are the rows of a matrix in GGUF.
  void add_flat(const TensorInfo& tensor, std::string name, const std::string& layer) {
    const auto values = *read_vector(tensor);
    weights_.add(name.replace(name.find("{}"), 2, layer), "F32", {values.size()}, std::as_bytes(std::span(values)));
  }

  // RWKV's, one vector each; older folders have them in one tensor, like the first layer here.
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
    // A scale for each block of 128 x 128: in these matrices one per block of rows.
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

  // Codes [.., in / 32, 16], with the even column in the lower nibble, and scales [.., in / 32].
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
    if (is_gate_up && spec_.hf_gate_up_rows() == GateUpRows::kPaired) return paired(whole);
    // The rows of all heads of a latent are one matrix.
    if (fusion.whole == Role::kLatentKv) whole.shape = {whole.shape[0] * whole.shape[1], whole.shape[2]};
    return whole;
  }

  // Each of a stack's matrices with the rows of its halves interleaved.
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

  // Each of a stack's matrices transposed.
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
    const bool is_turned = spec_.has_gguf_pairs() && !spec_.has_hf_pairs();
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

  // For Jais: those of the embedding and of the logits.
  void take_out_ends_factors(Rows& rows, Role role) const {
    double factor = 1;
    if (role == Role::kEmbed) factor = config_.value("mup_embeddings_scale", 1.0);
    if (role == Role::kHead) factor = config_.value("mup_output_alpha", 1.0) * config_.value("mup_width_scale", 1.0);
    for (float& value : rows.values) value = static_cast<float>(value / factor);
  }

  // GGUF's weights include config.json's factors.
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

  // How many of the rows come before those of the values' heads, if GGUF has the heads of a delta net interleaved.
  std::optional<uint64_t> rows_of_key_heads(Role role, uint64_t n_rows) const {
    if (!spec_.gguf_key_heads_in_turn) return std::nullopt;
    const uint64_t n_keys = uint64_t{2} * delta_net_.n_keys();
    if (role == Role::kDeltaQkv || role == Role::kSsmConv) return n_keys;
    const bool is_of_values = n_rows == delta_net_.n_values() || n_rows == delta_net_.n_heads;
    const bool has_heads = role == Role::kDeltaGate || role == Role::kDeltaBeta || role == Role::kDeltaDecay ||
                           role == Role::kSsmA || role == Role::kSsmDtBias;
    return has_heads && is_of_values ? std::optional<uint64_t>(0) : std::nullopt;
  }

  // GGUF's row for each row: heads that share a key head are adjacent.
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

  // GGUF's row for each row: its pairs (2i, 2i + 1) are halves in Hugging Face's files.
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
  SafetensorsWriter weights_;
};

// The row of the table for reading a folder of the model's weights: the file's own, or one only for folders.
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

}  // namespace

std::string hf_class_of(std::string_view config) {
  const size_t list = config.find('[', config.find("architectures")), first = config.find('"', list) + 1;
  return std::string(config.substr(first, config.find('"', first) - first));
}

void HfFolder::write(const ModelFile& gguf, const std::string& config, HfFolderForm form, const std::string& prefix,
                     bool has_stacks) const {
  const auto read = must(read_config(gguf));
  const ArchSpec& spec = folder_spec(gguf, hf_class_of(config));
  AttentionConfig attention;
  DeltaNetConfig delta_net;
  for (const LayerConfig& layer : read.layers) {
    if (const auto* own = std::get_if<AttentionConfig>(&layer.mixer)) attention = *own;
    if (const auto* own = std::get_if<DeltaNetConfig>(&layer.mixer)) delta_net = *own;
  }
  // An infinity in it is not valid JSON: such a config has no factors.
  const json parsed = json::parse(config, nullptr, false);
  HfWriter writer(gguf, spec, attention, delta_net, form, prefix, has_stacks,
                  parsed.is_discarded() ? json::object() : parsed);
  if (config.find("num_nextn_predict_layers") != std::string::npos) {
    writer.add_left_out("model.layers." + std::to_string(read.n_layers) + ".eh_proj.weight");
  }
  if (!spec.hf_left_out.empty()) writer.add_left_out(std::string(spec.hf_left_out) + "linear_proj.0.weight");
  if (config.find("lora_adaptations") != std::string::npos) {
    writer.add_left_out("roberta.pooler.dense.parametrizations.weight.0.lora_A");
    writer.add_left_out("roberta.encoder.layers.1.mixer.Wqkv.parametrizations.weight.0.lora_B");
  }
  writer.write(*this / "model.safetensors");
  put("config.json", config);
}

void HfFolder::add(const std::string& name, const std::vector<uint64_t>& shape,
                   const std::vector<float>& values) const {
  SafetensorsWriter weights;
  const auto file = must(ModelFile::open(*this));
  for (const TensorInfo& tensor : file.tensors()) {
    weights.add(std::string(tensor.name), "F32", {tensor.shape.begin(), tensor.shape.end()}, tensor.data);
  }
  weights.add(name, "F32", shape, std::as_bytes(std::span(values)));
  fs::remove(*this / "model.safetensors");  // the map keeps it
  weights.write(*this / "model.safetensors");
}

std::vector<float> HfFolder::logits() const {
  return reference_logits(must(ModelFile::open(*this)));
}

}  // namespace realizar::test
