#include "cli/trace_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <span>

#include "base/files.h"
#include "base/json_text.h"
#include "base/printable.h"
#include "base/try.h"

namespace realizar::cli {
namespace {

// A shorter time gives no meaningful rate.
constexpr double kShortestRateMs = 0.01;

// Lanes of the trace file.
constexpr int kStepLane = 1, kOperationLane = 2;

// Memory-bound rows have a rate in GB/s, the others in GFLOP/s: decode reads each weight for one row.
std::string rate_text(const TraceRow& row) {
  const double work = row.decode ? row.bytes : row.flops;
  if (row.total_ms < kShortestRateMs || work <= 0) return "";
  return fmt::format("{:.1f} {}", work / row.total_ms / 1e6, row.decode ? "GB/s" : "GFLOP/s");
}

double tokens_per_s(const TracePhase& phase) {
  return phase.total_ms > 0 ? static_cast<double>(phase.n_tokens) / phase.total_ms * 1e3 : 0;
}

std::string row_text(const TraceRow& row, double phase_ms) {
  return fmt::format("{:<8} {:<15} {:>10.2f} {:>6.1f}% {:>10.2f} {:>8} {:>16}\n", row.decode ? "decode" : "prefill",
                     row.op, row.total_ms, phase_ms > 0 ? 100 * row.total_ms / phase_ms : 0,
                     row.total_ms * 1e3 / static_cast<double>(row.count), row.count, rate_text(row));
}

// Rates count the useful tokens.
std::string total_text(const char* name, const TracePhase& phase) {
  const std::string computed =
      phase.n_computed > phase.n_tokens ? fmt::format("; {} tokens were computed", phase.n_computed) : "";
  return fmt::format("{:<8} {:<15} {:>10.2f} {:>6.1f}%   {} tokens in {} steps, {:.1f} tok/s{}\n", name, "total",
                     phase.total_ms, 100.0, phase.n_tokens, phase.n_steps, tokens_per_s(phase), computed);
}

std::string phase_text(const Trace& trace, bool decode) {
  const TracePhase& phase = decode ? trace.decode : trace.prefill;
  if (phase.n_steps == 0) return "";
  std::string text;
  for (const TraceRow& row : trace.rows) {
    if (row.decode == decode) text += row_text(row, phase.total_ms);
  }
  return text + total_text(decode ? "decode" : "prefill", phase);
}

std::string table_text(const LanguageModel& model) {
  const Trace trace = model.trace();
  const std::string note = model.trace_note();
  return fmt::format("{:<8} {:<15} {:>10} {:>7} {:>10} {:>8} {:>16}\n", "phase", "operation", "total ms", "share",
                     "mean us", "count", "rate") +
         phase_text(trace, false) + phase_text(trace, true) + total_text("both", trace.total()) +
         (note.empty() ? "" : "(" + note + ")\n");
}

std::string model_text(const ModelInfo& info) {
  return fmt::format("model    {} ({}): {} layers, d_model {}, {} heads, {} KV heads of {}, d_ff {}, vocabulary {}\n",
                     printable(info.name.empty() ? info.path : info.name), info.arch, info.n_layers, info.d_model,
                     info.n_heads, info.n_kv_heads, info.head_dim, info.d_ff, info.n_vocab);
}

std::string device_text(const ModelInfo& info) {
  return fmt::format("run      {}, context {}", info.backend, info.n_ctx);
}

std::string answer_text(const TracedAnswer& traced) {
  const GenerationStats& stats = traced.answer.generation.stats;
  const auto& most = traced.options.max_tokens;
  return fmt::format("; {} prompt tokens, {} of them cached; {} tokens generated{}\n", stats.n_prompt, stats.n_cached,
                     stats.n_generated, most ? fmt::format(" of at most {}", *most) : "");
}

// The first token's time is that of its prompt, which is reported before.
std::string token_rows(std::span<const TokenTime> times, uint32_t n_prompt) {
  std::string text = "  position       total      device        host       tok/s\n";
  for (size_t i = 1; i < times.size(); ++i) {
    const auto& [ms, device_ms] = times[i];
    const std::string rate = ms >= kShortestRateMs ? fmt::format("{:.1f}", 1e3 / ms) : "";
    text += fmt::format("  {:>8} {:>11.3f} {:>11.3f} {:>11.3f} {:>11}", n_prompt + i, ms, device_ms,
                        std::max(0.0, ms - device_ms), rate);
    text.resize(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  return text;
}

// A chat loads its model before any question, so that time belongs to no answer.
std::string token_times_text(const TracedAnswer& traced) {
  const GenerationStats& stats = traced.answer.generation.stats;
  std::string text = "\ntime to the first token\n";
  if (traced.start.load_ms > 0) {
    text += fmt::format("  load          {:10.2f} ms\n  tokenize      {:10.2f} ms\n", traced.start.load_ms,
                        traced.start.tokenize_ms);
  }
  text += fmt::format(
      "  prefix lookup {:10.3f} ms ({} of {} tokens found)\n"
      "  prefill       {:10.2f} ms\n"
      "  first token   {:10.2f} ms after the request\n"
      "decoded tokens from position {} on, ms each\n",
      stats.prefix_lookup_ms, stats.n_cached, stats.n_prompt, stats.prefill_ms, stats.first_token_ms,
      stats.n_prompt + 1);
  return text + token_rows(traced.answer.token_times, stats.n_prompt);
}

nlohmann::ordered_json metadata(const ModelInfo& info, const TracedAnswer* traced) {
  nlohmann::ordered_json json{{"realizar", version()},     {"model", info.name},      {"path", info.path},
                              {"architecture", info.arch}, {"backend", info.backend}, {"n_layers", info.n_layers},
                              {"d_model", info.d_model},   {"n_heads", info.n_heads}, {"n_kv_heads", info.n_kv_heads},
                              {"head_dim", info.head_dim}, {"d_ff", info.d_ff},       {"n_vocab", info.n_vocab},
                              {"n_ctx", info.n_ctx}};
  if (traced == nullptr) return json;
  const GenerationStats& stats = traced->answer.generation.stats;
  json["n_prompt"] = stats.n_prompt;
  json["n_cached"] = stats.n_cached;
  json["n_generated"] = stats.n_generated;
  if (traced->options.max_tokens) json["max_tokens"] = *traced->options.max_tokens;
  return json;
}

nlohmann::ordered_json name_event(const char* what, int lane, const std::string& name) {
  return {{"name", what}, {"ph", "M"}, {"pid", 1}, {"tid", lane}, {"args", {{"name", name}}}};
}

nlohmann::ordered_json event_json(const std::string& name, int lane, double start_us, double duration_us,
                                  nlohmann::ordered_json args) {
  return {{"name", name},           {"ph", "X"}, {"pid", 1}, {"tid", lane}, {"ts", start_us}, {"dur", duration_us},
          {"args", std::move(args)}};
}

const char* phase_of(const TraceEvent& event) {
  return event.decode ? "decode" : "prefill";
}

nlohmann::ordered_json operation_json(const TraceEvent& event) {
  nlohmann::ordered_json args{{"phase", phase_of(event)}, {"step", event.step}};
  if (event.layer >= 0) args["layer"] = event.layer;
  return event_json(event.name, kOperationLane, event.start_us, event.duration_us, std::move(args));
}

// A step extends from the beginning of its first operation to the end of its last.
nlohmann::ordered_json step_json(const TraceEvent& first, const TraceEvent& last) {
  return event_json(phase_of(first), kStepLane, first.start_us, last.start_us + last.duration_us - first.start_us,
                    {{"step", first.step}, {"tokens", first.n_tokens}});
}

nlohmann::ordered_json events_json(const LanguageModel& model) {
  const std::vector<TraceEvent> events = model.trace_events();
  auto json = nlohmann::ordered_json::array();
  json.push_back(name_event("process_name", 0, "realizar, " + model.info().backend));
  json.push_back(name_event("thread_name", kStepLane, "steps"));
  json.push_back(name_event("thread_name", kOperationLane, "operations"));
  for (size_t first = 0, i = 0; i < events.size(); ++i) {
    json.push_back(operation_json(events[i]));
    if (i + 1 < events.size() && events[i + 1].step == events[i].step) continue;
    json.push_back(step_json(events[first], events[i]));
    first = i + 1;
  }
  return json;
}

Status write_trace_file(const std::string& path, const LanguageModel& model, const TracedAnswer* traced) {
  if (path.empty()) return {};
  const nlohmann::ordered_json json{
      {"traceEvents", events_json(model)}, {"displayTimeUnit", "ms"}, {"metadata", metadata(model.info(), traced)}};
  RZ_TRY(NewFile out, NewFile::create(path));
  RZ_CHECK_OK(out.write(json_text(json) + '\n'));
  return out.commit();
}

}  // namespace

void TraceFlags::add_to(Flags flags) {
  flags = flags.group("Trace").advanced();
  flags.flag("--trace", table, "Print the time of every operation on standard error, in a chat after each answer");
  flags.flag(
      "--token-times", token_times,
      "Print the time to the first token, and of each further one its position, time and rate and what the device "
      "and the host took, on standard error; costs nothing");
  flags.option("--trace-file", file,
               "Write the operations, in a chat those of the last answer, in Chrome's trace format (opens in Perfetto)",
               {.takes = kNewFile});
}

Status report_trace(const TraceFlags& flags, LanguageModel& model, const TracedAnswer& traced) {
  std::string text;
  if (flags.table)
    text = model_text(model.info()) + device_text(model.info()) + answer_text(traced) + table_text(model);
  if (flags.table || flags.token_times) text += token_times_text(traced);
  std::fputs(text.c_str(), stderr);
  Status written = write_trace_file(flags.file, model, &traced);
  model.clear_trace();
  return written;
}

Status report_trace(const TraceFlags& flags, LanguageModel& model) {
  if (flags.table) {
    std::fputs((model_text(model.info()) + device_text(model.info()) + "\n" + table_text(model)).c_str(), stderr);
  }
  Status written = write_trace_file(flags.file, model, nullptr);
  model.clear_trace();
  return written;
}

}  // namespace realizar::cli
