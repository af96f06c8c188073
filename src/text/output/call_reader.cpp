#include "text/output/call_reader.h"

namespace realizar::text {
JsonValueReader::Step CallReader::read_json(JsonValueReader& reader, std::string& out) {
  const std::string_view rest = window_.rest();
  for (size_t i = 0; i < rest.size(); ++i) {
    const JsonValueReader::Step step = reader.push(rest[i], out);
    if (step == JsonValueReader::Step::kTaken) continue;
    window_.take(step == JsonValueReader::Step::kEnd ? i + 1 : i);
    return step;
  }
  window_.take(rest.size());
  return JsonValueReader::Step::kTaken;
}

JsonValueReader::Step CallReader::stream_arguments(JsonValueReader& reader) {
  std::string json;
  const JsonValueReader::Step step = read_json(reader, json);
  emitter_.arguments(json);
  window_.commit();
  return step;
}

}  // namespace realizar::text
