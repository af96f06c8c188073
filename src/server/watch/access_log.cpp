#include "server/watch/access_log.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <nlohmann/json.hpp>

#include "base/try.h"
#include "server/http/json.h"

namespace realizar::server {
namespace {

void tell_loss(const std::string& reason) {
  spdlog::error("lines of the access log are lost; realizar_access_log_lost_lines_total counts them ({})", reason);
}

// Terminals interpret some characters above ASCII as commands too (U+0080 to U+009F), and DEL. They can only be inside
// strings, where JSON has another spelling.
std::string with_escaped_controls(const std::string& json) {
  std::string text;
  text.reserve(json.size());
  for (size_t i = 0; i < json.size(); ++i) {
    const auto byte = static_cast<uint8_t>(json[i]);
    const auto next = static_cast<uint8_t>(i + 1 < json.size() ? json[i + 1] : 0);
    if (byte == 0x7f) {
      text += "\\u007f";
    } else if (byte == 0xc2 && next >= 0x80 && next <= 0x9f) {
      text += fmt::format("\\u{:04x}", next);
      ++i;
    } else {
      text += json[i];
    }
  }
  return text;
}

std::string now_iso8601() {
  const auto now = std::chrono::system_clock::now();
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count();
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(std::chrono::system_clock::to_time_t(now)), ms % 1000);
}

Json line_of(const AccessLogEntry& entry) {
  const CallRecord& r = entry.record;
  Json line{{"time", now_iso8601()},          {"request_id", entry.id},     {"peer", entry.request.client},
            {"method", entry.request.method}, {"path", entry.request.path}, {"status", entry.status},
            {"total_ms", entry.total_ms}};
  if (entry.request.client != entry.request.peer) line["proxy"] = entry.request.peer;
  if (!entry.traceparent.empty()) line["traceparent"] = entry.traceparent;
  if (!r.model.empty()) {
    line.update(Json{{"model", r.model},
                     {"n_prompt", r.n_prompt},
                     {"n_cached", r.n_cached},
                     {"n_generated", r.n_generated},
                     {"queue_ms", r.queue_ms},
                     {"prefill_ms", r.prefill_ms},
                     {"first_token_ms", r.first_token_ms},
                     {"decode_ms", r.decode_ms},
                     {"finish_reason", r.finish_reason}});
  }
  for (const auto& [n_prompt, n_cached, n_generated] : r.prompts) {
    line["prompts"].push_back({{"n_prompt", n_prompt}, {"n_cached", n_cached}, {"n_generated", n_generated}});
  }
  if (!r.warning.empty()) line["warning"] = r.warning;
  if (!r.prompt.empty()) line["prompt"] = r.prompt;
  return line;
}

}  // namespace

Result<AccessLog> AccessLog::open(const std::string& path, bool has_prompts) {
  AccessLog log;
  if (path.empty()) return log;
  RZ_TRY(log.writer_, LineWriter::open(path, tell_loss, has_prompts ? Readers::kOwnerAlone : Readers::kAsTheUserHasIt));
  return log;
}

void AccessLog::reopen() {
  if (is_on()) writer_->reopen();
}

void AccessLog::write(const AccessLogEntry& entry) {
  if (is_on()) writer_->write(with_escaped_controls(dump(line_of(entry))));
}

}  // namespace realizar::server
