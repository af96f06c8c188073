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

CallUnit::Match CallUnit::take_marks(const std::vector<std::string>& marks, size_t& n_taken) {
  while (n_taken < marks.size()) {
    if (!window_.skip_space()) return window_.ended() ? Match::kNo : Match::kOpen;
    const Match match = window_.take(marks[n_taken]);
    if (match != Match::kYes) return match;
    ++n_taken;
  }
  return Match::kYes;
}

}  // namespace realizar::text
