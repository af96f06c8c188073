#include "text/output/call_syntax.h"

#include <algorithm>

namespace realizar::text {
namespace {

// Formats with two spellings: JSON, or another one that begins with no bracket.
class JsonOrOther final : public CallSyntax {
 public:
  JsonOrOther(ToolFormat format, std::unique_ptr<CallSyntax> other, TextWindow& window, CallEmitter& emitter)
      : CallSyntax(window, emitter), json_(make_json_calls(format, window, emitter)), other_(std::move(other)) {}

  void start() override { chosen_ = nullptr; }

  Progress read() override {
    if (!chosen_ && !choose()) return Progress::kNeedMore;
    return chosen_->read();
  }

  void close_arguments() override {
    if (chosen_) chosen_->close_arguments();
  }

 private:
  // False if more text decides. A list is JSON's if it holds objects: LFM2 writes calls in brackets too.
  bool choose() {
    if (!window_.skip_space()) return false;
    size_t at = 0;
    if (window_.front() == '[') {
      const std::string_view start = window_.rest().substr(0, TextWindow::kMaxHeaderBytes);
      at = std::min(start.find_first_not_of(" \t\r\n", 1), start.size());
      if (at == window_.rest().size() && !window_.ended()) return false;
    }
    const bool is_json = window_.match("{", at) == Match::kYes || window_.match("]", at) == Match::kYes;
    chosen_ = is_json ? json_.get() : other_.get();
    chosen_->start();
    return true;
  }

  std::unique_ptr<CallSyntax> json_;
  std::unique_ptr<CallSyntax> other_;
  CallSyntax* chosen_ = nullptr;
};

}  // namespace

JsonValueReader::Step CallSyntax::read_json(JsonValueReader& reader, std::string& out) {
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

JsonValueReader::Step CallSyntax::stream_arguments(JsonValueReader& reader) {
  std::string json;
  const JsonValueReader::Step step = read_json(reader, json);
  emitter_.arguments(json);
  window_.commit();
  return step;
}

std::unique_ptr<CallSyntax> make_call_syntax(ToolFormat format, TextWindow& window, CallEmitter& emitter) {
  switch (format) {
    case ToolFormat::kNone:
      return nullptr;
    case ToolFormat::kHermes:
    case ToolFormat::kCohere:
    case ToolFormat::kGranite:
      return make_json_calls(format, window, emitter);
    case ToolFormat::kLlama3Json:
    case ToolFormat::kLfm2:
      return std::make_unique<JsonOrOther>(format, make_literal_calls(format, window, emitter), window, emitter);
    case ToolFormat::kMistral:
      return std::make_unique<JsonOrOther>(format, make_named_calls(format, window, emitter), window, emitter);
    case ToolFormat::kDeepSeek:
    case ToolFormat::kKimi:
      return make_named_calls(format, window, emitter);
    case ToolFormat::kQwen3Coder:
    case ToolFormat::kGlm:
      return make_xml_calls(format, window, emitter);
    case ToolFormat::kGemma:
      return make_literal_calls(format, window, emitter);
    case ToolFormat::kGptOss:
      return make_harmony(window, emitter);
  }
  return nullptr;
}

}  // namespace realizar::text
