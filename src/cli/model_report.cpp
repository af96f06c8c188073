#include "cli/model_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "api/text_assets.h"
#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/kernel_choice.h"
#include "backend/kv_types.h"
#include "base/amounts.h"
#include "base/machine.h"
#include "base/printable.h"
#include "model/model.h"
#include "text/output/output_format.h"

namespace realizar::cli {
namespace {

// llama.cpp's enum llama_ftype, by which general.file_type names a mixture of types.
constexpr std::pair<int, const char*> kFileTypes[] = {
    {0, "F32"},     {1, "F16"},     {2, "Q4_0"},    {3, "Q4_1"},    {7, "Q8_0"},    {8, "Q5_0"},    {9, "Q5_1"},
    {10, "Q2_K"},   {11, "Q3_K_S"}, {12, "Q3_K_M"}, {13, "Q3_K_L"}, {14, "Q4_K_S"}, {15, "Q4_K_M"}, {16, "Q5_K_S"},
    {17, "Q5_K_M"}, {18, "Q6_K"},   {21, "Q2_K_S"}, {25, "IQ4_NL"}, {30, "IQ4_XS"}, {32, "BF16"},   {38, "MXFP4"}};

// Layers with a window keep no more than it.
uint64_t kv_bytes(const ModelConfig& c, KvType type, uint32_t n_ctx) {
  uint64_t n_elems = 0;
  for (const StateLayout& layer : state_layouts(c, n_ctx)) {
    const auto* own = std::get_if<Paged>(&layer);
    if (own == nullptr) continue;
    n_elems += uint64_t{own->n_kv_heads} * (own->k_dim + own->v_dim) * (own->window > 0 ? own->window : n_ctx);
  }
  return row_bytes(kv_traits(type), 32) * n_elems / 32;
}

std::string metadata_text(const ModelFile& file, std::string_view key) {
  const auto value = file.metadata().get_string(key);
  return value.ok() && *value ? printable(**value) : "";
}

std::string format_name(const ModelFile& file) {
  return file.format() == FileFormat::kGguf ? "GGUF" : "SafeTensors";
}

std::string best_level() {
  const char* best = "";
  for (const CpuIsa isa : kCpuIsas) {
    if (kernels_for(isa) != nullptr) best = to_string(isa);
  }
  return best;
}

void add_text_side(const ModelFile& file, ModelReport& report) {
  const auto tokenizer = load_tokenizer(file);
  if (!tokenizer.ok()) {
    report.refusal = tokenizer.error().message;
    return;
  }
  const auto source = load_chat_template(file, *tokenizer);
  report.has_template = source.ok() && source->has_value();
  if (!report.has_template) return;
  const text::OutputFormat format = text::detect_output_format((*source)->source);
  report.has_tools = format.tools != text::ToolFormat::kNone;
  report.has_reasoning = format.reasoning.has_value() || format.tools == text::ToolFormat::kGptOss;
}

void add_config(const ModelFile& file, ModelReport& report) {
  auto config = read_config(file);
  if (!config.ok()) {
    report.refusal = config.error().message;
    return;
  }
  report.n_ctx = config->n_ctx;
  report.kv_bytes = kv_bytes(*config, KvType::kF16, report.n_ctx);
  report.kv_q8_bytes = kv_bytes(*config, KvType::kQ8_0, report.n_ctx);
  report.config = std::move(*config);
  const uint64_t n_bytes = report.weight_bytes + report.kv_bytes;
  if (report.refusal.empty() && report.available_bytes > 0 && n_bytes > report.available_bytes) {
    report.refusal =
        fmt::format("it needs {} of memory, and {} is free", bytes_text(n_bytes), bytes_text(report.available_bytes));
  }
}

std::string params_text(uint64_t n_params) {
  const auto n = static_cast<double>(n_params);
  return n_params >= 1000000000 ? fmt::format("{:.2f} billion", n / 1e9) : fmt::format("{:.1f} million", n / 1e6);
}

std::string chat_text(const ModelReport& report) {
  if (!report.has_template) return "no template: --raw continues a text";
  return fmt::format("template, {} tools, {} reasoning", report.has_tools ? "with" : "no",
                     report.has_reasoning ? "with" : "no");
}

std::string row(const char* title, const std::string& text) {
  return fmt::format("{:<14}{}\n", title, text);
}

std::string config_rows(const ModelReport& report) {
  const ModelConfig& c = *report.config;
  return row("parameters",
             fmt::format("{}, {} layers, {}", params_text(report.n_params), c.n_layers, printable(c.arch))) +
         row("context",
             fmt::format("{} tokens; {} by default (--ctx)", grouped_text(c.n_ctx_train), grouped_text(report.n_ctx))) +
         row("memory", fmt::format("{} weights + {} KV cache at {} tokens", bytes_text(report.weight_bytes),
                                   bytes_text(report.kv_bytes), grouped_text(report.n_ctx))) +
         row("", fmt::format("({} with --kv-type q8_0); {} free here", bytes_text(report.kv_q8_bytes),
                             report.available_bytes > 0 ? bytes_text(report.available_bytes) : "an unknown amount"));
}

}  // namespace

double ModelReport::bits_per_weight() const {
  return n_params == 0 ? 0 : 8.0 * static_cast<double>(weight_bytes) / static_cast<double>(n_params);
}

std::string quantization_name(const ModelFile& file) {
  const auto file_type = file.metadata().get_int("general.file_type");
  if (file_type.ok() && *file_type) {
    const auto* found = std::find_if(std::begin(kFileTypes), std::end(kFileTypes),
                                     [&](const auto& entry) { return entry.first == **file_type; });
    if (found != std::end(kFileTypes)) return found->second;
  }
  std::map<std::string_view, uint64_t> bytes_of;
  for (const TensorInfo& tensor : file.tensors()) bytes_of[traits(tensor.type).name] += tensor.data.size();
  const auto most = std::max_element(bytes_of.begin(), bytes_of.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == bytes_of.end() ? "no weights" : std::string(most->first);
}

ModelReport report_on(const ModelFile& file) {
  ModelReport report;
  report.name = metadata_text(file, "general.name");
  if (report.name.empty()) report.name = printable(file.path().filename().string());
  report.format = format_name(file);
  report.quantization = quantization_name(file);
  report.file_bytes = file.file_bytes();
  for (const TensorInfo& tensor : file.tensors()) {
    report.weight_bytes += tensor.data.size();
    report.n_params += tensor.n_elems();
  }
  report.available_bytes = host_memory().available_bytes;
  report.licence = metadata_text(file, "general.license");
  add_text_side(file, report);
  add_config(file, report);
  return report;
}

std::string report_text(const ModelReport& report) {
  std::string text = report.name + '\n';
  text += row("runs here",
              report.refusal.empty() ? fmt::format("yes (cpu, {})", best_level()) : "no: " + printable(report.refusal));
  text += row("file", fmt::format("{} {}, {} ({:.1f} bits a weight)", bytes_text(report.file_bytes), report.format,
                                  report.quantization, report.bits_per_weight()));
  if (report.config) text += config_rows(report);
  text += row("chat", chat_text(report));
  text += row("licence", report.licence.empty() ? "not told in the file" : report.licence);
  return text + "more: --tensors, --metadata, --json\n";
}

}  // namespace realizar::cli
