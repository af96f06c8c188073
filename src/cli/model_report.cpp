#include "cli/model_report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <utility>

#include "api/generation_config.h"
#include "api/memory_needs.h"
#include "api/quantization_name.h"
#include "api/text_assets.h"
#include "backend/cpu/cpu_backend.h"
#include "base/amounts.h"
#include "base/machine.h"
#include "base/printable.h"
#include "model/config_reader.h"
#include "text/chat_template.h"
#include "text/template_output.h"

namespace realizar::cli {
namespace {

engine::EngineOptions one_request(uint32_t n_ctx, KvType kv_type) {
  engine::EngineOptions options;
  options.n_ctx = n_ctx;
  options.kv_tokens = n_ctx;
  options.kv_type = kv_type;
  return options;
}

std::string metadata_text(const ModelFile& file, std::string_view key) {
  const auto value = file.metadata().get_string(key);
  return value.ok() && *value ? printable(**value) : "";
}

// The kind of calls, and their opening mark.
std::string name_of(const text::OutputFormat& format) {
  constexpr std::array<const char*, 5> kKinds = {"object", "object after name", "tagged", "literal", "message"};
  if (!format.calls || format.is_general) return "";
  const text::CallMarks marks = text::marks_of(*format.calls);
  const std::string kind = kKinds[static_cast<size_t>(format.calls->arguments)];
  const std::string mark = marks.openers.empty() ? marks.call_begin : marks.openers.front();
  return mark.empty() ? kind : kind + " " + mark;
}

void add_ends(const ModelFile& file, const text::Tokenizer& tokenizer, ModelReport& report) {
  const auto config = read_generation_config(file, tokenizer);
  if (!config.ok()) {
    report.refusal = config.error().message;
    return;
  }
  for (const text::EndToken& end : config->ends) {
    report.ends.push_back({to_index(end.id), std::string(tokenizer.piece(end.id)), end.sources});
  }
  report.notes.insert(report.notes.end(), config->notes.begin(), config->notes.end());
}

void add_text_side(const ModelFile& file, ModelReport& report) {
  const auto tokenizer = load_tokenizer(file);
  if (!tokenizer.ok()) {
    report.refusal = tokenizer.error().message;
    return;
  }
  add_ends(file, *tokenizer, report);
  const auto source = load_chat_template(file, *tokenizer);
  report.has_template = source.ok() && source->has_value();
  if (!report.has_template) return;
  const auto chat_template = text::ChatTemplate::parse((*source)->source_for(/*has_tools=*/true));
  if (!chat_template.ok()) return;
  report.tool_format = name_of(chat_template->output_format());
  report.has_reasoning = text::marks_reasoning(chat_template->output_format());
  report.template_traits = listed(chat_template->traits());
  for (auto& trait : text::listed(chat_template->output_format())) report.template_traits.push_back(std::move(trait));
}

void add_config(const ModelFile& file, ModelReport& report) {
  auto config = read_config(file);
  if (!config.ok()) {
    report.refusal = config.error().message;
    return;
  }
  report.n_ctx = config->n_ctx;
  report.kv_bytes = kv_bytes(*config, one_request(report.n_ctx, report.kv_type));
  report.kv_q8_bytes = kv_bytes(*config, one_request(report.n_ctx, KvType::kQ8_0));
  for (const uint32_t n_ctx : {4096u, 32768u, config->n_ctx_train}) {
    const bool is_new = report.contexts.empty() || report.contexts.back().n_ctx < n_ctx;
    if (!is_new || n_ctx > config->n_ctx_train) continue;
    report.contexts.push_back({n_ctx, kv_bytes(*config, one_request(n_ctx, report.kv_type))});
  }
  const auto fit = fit_on_gpus(file, *config, one_request(report.n_ctx, report.kv_type));
  report.gpu = fit.ok() ? GpuReport{"", fit->n_gpus, fit->n_layers} : GpuReport{fit.error().message};
  if (report.refusal.empty()) {
    if (const Status status = check_on_cpu(*config); !status.ok()) report.refusal = status.error().message;
  }
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

// The output of an encoder for a text.
std::string vector_text(const ModelConfig& config) {
  if (config.pooling == Pooling::kRank) return "scores of texts: realizar rerank";
  const char* of = config.pooling == Pooling::kMean    ? "the mean of all tokens"
                   : config.pooling == Pooling::kFirst ? "the first token"
                                                       : "the last token";
  return fmt::format("vectors of texts, by {}: realizar embed", of);
}

std::string chat_text(const ModelReport& report) {
  if (!report.has_template) return "no template: --raw continues a text";
  const std::string tools =
      report.tool_format.empty() ? "no tools" : fmt::format("with tools ({})", report.tool_format);
  return fmt::format("template, {}, {} reasoning", tools, report.has_reasoning ? "with" : "no");
}

constexpr size_t kTitleColumns = 14, kColumns = 80;

std::string row(const char* title, const std::string& text) {
  return fmt::format("{:<{}}{}\n", title, kTitleColumns, text);
}

// Likewise, wrapped between words if it is too long for a line.
std::string rows(const char* title, const std::string& text) {
  constexpr size_t kTextColumns = kColumns - kTitleColumns;
  const size_t space = text.size() <= kTextColumns ? std::string::npos : text.rfind(' ', kTextColumns);
  if (space == std::string::npos || space == 0) return row(title, text);
  return row(title, text.substr(0, space)) + rows("", text.substr(space + 1));
}

// Weights and KV cache.
std::string contexts_text(const ModelReport& report) {
  std::string text;
  for (const ContextMemory& context : report.contexts) {
    text += fmt::format("{}{} at {}{}", text.empty() ? "" : ", ", bytes_text(report.weight_bytes + context.kv_bytes),
                        grouped_text(context.n_ctx), text.empty() ? " tokens" : "");
  }
  return text;
}

std::string end_rows(const ModelReport& report) {
  std::string text;
  for (const ReportedEnd& end : report.ends) {
    const std::string from = fmt::format("{}", fmt::join(end.sources, ", "));
    text += rows(text.empty() ? "ends" : "", fmt::format("{} ({}), by {}", shown(end.piece), end.id, printable(from)));
  }
  return text;
}

std::string gpu_text(const GpuReport& gpu, uint32_t n_layers) {
  if (!gpu.refusal.empty()) return "no: " + printable(gpu.refusal);
  const std::string where = gpu.n_gpus == 1 ? "the GPU" : fmt::format("{} GPUs", gpu.n_gpus);
  if (gpu.n_layers == n_layers) return fmt::format("all layers find room on {}", where);
  return fmt::format("about {} of {} layers find room on {}", gpu.n_layers, n_layers, where);
}

std::string config_rows(const ModelReport& report) {
  const ModelConfig& c = *report.config;
  return row("parameters",
             fmt::format("{}, {} layers, {}", params_text(report.n_params), n_file_layers(c), printable(c.arch))) +
         row("context",
             fmt::format("{} tokens; {} by default (--ctx)", grouped_text(c.n_ctx_train), grouped_text(report.n_ctx))) +
         row("memory", fmt::format("{} weights + {} KV cache at {} tokens", bytes_text(report.weight_bytes),
                                   bytes_text(report.kv_bytes), grouped_text(report.n_ctx))) +
         row("", fmt::format("({} with --kv-type q8_0); {} free here", bytes_text(report.kv_q8_bytes),
                             report.available_bytes > 0 ? bytes_text(report.available_bytes) : "an unknown amount")) +
         rows("in all", contexts_text(report)) + rows("gpu", gpu_text(report.gpu, n_file_layers(c)));
}

}  // namespace

double ModelReport::bits_per_weight() const {
  return n_params == 0 ? 0 : 8.0 * static_cast<double>(weight_bytes) / static_cast<double>(n_params);
}

ModelReport report_on(const ModelFile& file, KvType kv_type) {
  ModelReport report;
  report.kv_type = kv_type;
  report.name = metadata_text(file, "general.name");
  if (report.name.empty()) report.name = printable(file.path().filename().string());
  report.format = file.format() == FileFormat::kGguf ? "GGUF" : "SafeTensors";
  report.quantization = quantization_name(file);
  report.file_bytes = file.file_bytes();
  report.notes.assign(file.notes().begin(), file.notes().end());
  for (const TensorInfo& tensor : file.tensors()) {
    report.weight_bytes += tensor.n_bytes();
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
  text += row("runs here", report.refusal.empty() ? fmt::format("yes (cpu, {})", to_string(cpu::usable_isas().back()))
                                                  : "no: " + printable(report.refusal));
  text += row("file", fmt::format("{} {}, {} ({:.1f} bits a weight)", bytes_text(report.file_bytes), report.format,
                                  report.quantization, report.bits_per_weight()));
  if (report.config) text += config_rows(report);
  for (const std::string& note : report.notes) text += row("note", printable(note));
  const bool gives_text = !report.config || realizar::gives_text(*report.config);
  text += !gives_text ? row("gives", vector_text(*report.config)) : row("chat", chat_text(report));
  if (gives_text) text += end_rows(report);
  text += row("licence", report.licence.empty() ? "not in the file" : report.licence);
  return text + "more: --tensors, --metadata, --json\n";
}

}  // namespace realizar::cli
