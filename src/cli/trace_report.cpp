#include "cli/trace_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/files.h"

namespace realizar::cli {
namespace {

// Memory-bound rows are told in GB/s, the others in GFLOP/s: decode reads each weight for one row.
std::string rate_text(const TraceRow& row) {
  if (row.total_ms <= 0) return "";
  const double per_s = 1e3 / row.total_ms;
  if (row.decode) return fmt::format("{:8.1f} GB/s", row.bytes * per_s / 1e9);
  return fmt::format("{:8.1f} GFLOP/s", row.flops * per_s / 1e9);
}

std::string token_times_text(const StartTimes& start, const Answer& answer) {
  const GenerationStats& stats = answer.generation.stats;
  std::string text = fmt::format(
      "\ntime to the first token\n"
      "  load          {:10.2f} ms\n"
      "  tokenize      {:10.2f} ms\n"
      "  prefix lookup {:10.3f} ms ({} of {} tokens found)\n"
      "  prefill       {:10.2f} ms\n"
      "  first token   {:10.2f} ms after the request\n"
      "decoded tokens from position {} on, ms each\n ",
      start.load_ms, start.tokenize_ms, stats.prefix_lookup_ms, stats.n_cached, stats.n_prompt, stats.prefill_ms,
      stats.first_token_ms, stats.n_prompt + 1);
  for (size_t i = 1; i < answer.token_ms.size(); ++i) {
    text += fmt::format(" {:.2f}", answer.token_ms[i]);
    if (i % 16 == 0) text += "\n ";
  }
  return text + "\n";
}

}  // namespace

void TraceFlags::add_to(Flags flags) {
  flags = flags.group("Trace");
  flags.flag("--trace", table, "Print the time of every operation on standard error");
  flags.flag("--token-times", token_times,
             "Print the time to the first token and of each further one on standard error; costs nothing");
  flags.option("--trace-file", file, "Write the operations in Chrome's trace format (opens in Perfetto)");
}

Status report_trace(const TraceFlags& flags, const LanguageModel& model, const StartTimes& start,
                    const Answer& answer) {
  if (flags.table) std::fputs(trace_table_text(model).c_str(), stderr);
  if (flags.table || flags.token_times) std::fputs(token_times_text(start, answer).c_str(), stderr);
  return flags.file.empty() ? Status{} : write_trace_file(flags.file, model);
}

std::string trace_table_text(const LanguageModel& model) {
  std::vector<TraceRow> rows = model.trace_table();
  std::stable_sort(rows.begin(), rows.end(), [](const TraceRow& a, const TraceRow& b) {
    return a.decode != b.decode ? b.decode : a.total_ms > b.total_ms;
  });
  double total_ms = 0;
  for (const TraceRow& row : rows) total_ms += row.total_ms;
  std::string text = fmt::format("{:<8} {:<14} {:>10} {:>7} {:>10} {:>8} {:>16}\n", "phase", "operation", "total ms",
                                 "share", "mean us", "count", "rate");
  for (const TraceRow& row : rows) {
    text +=
        fmt::format("{:<8} {:<14} {:>10.2f} {:>6.1f}% {:>10.2f} {:>8} {:>16}\n", row.decode ? "decode" : "prefill",
                    row.op, row.total_ms, total_ms > 0 ? 100 * row.total_ms / total_ms : 0,
                    row.count > 0 ? row.total_ms * 1e3 / static_cast<double>(row.count) : 0, row.count, rate_text(row));
  }
  const std::string note = model.trace_note();
  return note.empty() ? text : text + "(" + note + ")\n";
}

Status write_trace_file(const std::string& path, const LanguageModel& model) {
  nlohmann::json events = nlohmann::json::array();
  for (const TraceEvent& event : model.trace_events()) {
    events.push_back({{"name", event.name},
                      {"ph", "X"},
                      {"pid", 1},
                      {"tid", 1},
                      {"ts", event.start_us},
                      {"dur", event.duration_us}});
  }
  RZ_TRY(NewFile out, NewFile::create(path));
  RZ_CHECK_OK(out.write(nlohmann::json{{"traceEvents", events}, {"displayTimeUnit", "ms"}}.dump() + '\n'));
  return out.commit();
}

}  // namespace realizar::cli
