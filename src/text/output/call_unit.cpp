#include "text/output/call_unit.h"

namespace realizar::text {

JsonValueReader::Step read_json(TextWindow& window, JsonValueReader& reader, std::string& out) {
  const std::string_view rest = window.rest();
  for (size_t i = 0; i < rest.size(); ++i) {
    const JsonValueReader::Step step = reader.push(rest[i], out);
    if (step == JsonValueReader::Step::kTaken) continue;
    window.take(step == JsonValueReader::Step::kEnd ? i + 1 : i);
    return step;
  }
  window.take(rest.size());
  return JsonValueReader::Step::kTaken;
}

bool CallUnit::begin_call(std::string_view name) {
  if (!emitter_.begin(name)) return false;
  window_.commit();
  return true;
}

void CallUnit::end_call() {
  emitter_.end();
  window_.commit();
}

JsonValueReader::Step CallUnit::stream_arguments(JsonValueReader& reader) {
  std::string json;
  const JsonValueReader::Step step = read_json(window_, reader, json);
  emitter_.arguments(json);
  window_.commit();
  return step;
}

std::optional<CallUnit::Step> CallUnit::take_marks(const std::vector<std::string>& marks) {
  for (; n_taken_ < marks.size(); ++n_taken_) {
    if (!window_.skip_space()) return window_.ended() ? Step::kReject : Step::kNeedMore;
    const Match match = window_.take(marks[n_taken_]);
    if (match != Match::kYes) return match == Match::kOpen ? Step::kNeedMore : Step::kReject;
  }
  n_taken_ = 0;
  return std::nullopt;
}

}  // namespace realizar::text
