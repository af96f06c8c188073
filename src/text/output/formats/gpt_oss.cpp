// gpt-oss (harmony): messages with a header that names a channel (analysis, final, commentary) and, for a call, a
// recipient: <|start|>assistant<|channel|>commentary to=functions.name <|constrain|>json<|message|>{..}<|call|>
#include "text/output/formats/format.h"

namespace realizar::text {
namespace {

using Step = JsonValueReader::Step;

constexpr std::string_view kMessage = "<|message|>";
constexpr std::string_view kChannel = "<|channel|>";

// What follows `before` in the header, up to white space or a marker; empty if `before` is not there.
std::string_view word_after(std::string_view header, std::string_view before) {
  const size_t at = header.rfind(before);
  if (at == std::string_view::npos) return {};
  header.remove_prefix(at + before.size());
  return header.substr(0, header.find_first_of(" \t\r\n<"));
}

class Harmony final : public CallReader {
 public:
  using CallReader::CallReader;

  void start() override { in_arguments_ = false; }

  Progress read() override {
    if (in_arguments_) return read_arguments();
    size_t n_bytes = 0;
    const Match found = window_.find(kMessage, n_bytes);
    if (found == Match::kOpen) return Progress::kNeedMore;
    if (found == Match::kNo) return no_message();
    const std::string header(window_.rest().substr(0, n_bytes));
    window_.take(n_bytes + kMessage.size());
    return read_body(header);
  }

  void close_arguments() override {
    std::string json;
    reader_.close(json);
    emitter_.arguments(json);
  }

 private:
  // A header that the end of the generation cut off is nobody's text.
  Progress no_message() {
    const bool is_cut_off =
        window_.ended() && window_.front() == '<' && window_.rest().size() < window_.kMaxHeaderBytes;
    if (!is_cut_off) return Progress::kReject;
    window_.take(window_.rest().size());
    return Progress::kEnd;
  }

  Progress read_body(std::string_view header) {
    const std::string_view channel = word_after(header, kChannel);
    const std::string_view recipient = word_after(header, "to=");
    name_ = recipient.starts_with("functions.") ? recipient.substr(10) : recipient;
    // A recipient in the analysis may be a tool of the model's own, whose calls are no JSON.
    if (emitter_.find_tool(name_) != nullptr || (channel != "analysis" && emitter_.may_call(name_))) {
      in_arguments_ = true;
      reader_ = {};
      return read_arguments();
    }
    if (channel != "analysis" && !recipient.empty()) return Progress::kReject;
    window_.commit();
    return channel == "analysis" ? Progress::kReasoning : Progress::kContent;
  }

  Progress read_arguments() {
    if (!emitter_.is_open()) {
      if (!window_.skip_space()) return Progress::kNeedMore;
      if (window_.front() != '{' || !begin_call(name_)) return Progress::kReject;
    }
    const Step step = stream_arguments(reader_);
    if (step == Step::kTaken) return Progress::kNeedMore;
    if (step != Step::kEnd) return Progress::kReject;
    end_call();
    return Progress::kEnd;
  }

  bool in_arguments_ = false;
  std::string name_;
  JsonValueReader reader_;
};

}  // namespace

const FormatSpec& gpt_oss_format() {
  static const FormatSpec spec{
      .format = ToolFormat::kGptOss,
      .signs = {"<|channel|>analysis"},
      // A prompt that ends with <|start|>assistant leaves the model in the midst of a header.
      .markers = {.leading = {"<|start|>", "<|channel|>"},
                  .inner = {"<|constrain|>", "<|message|>", "<|end|>", "<|call|>", "<|return|>"},
                  .bare = {"to="}},
      .make_reader = [](TextWindow& window, CallEmitter& emitter) -> CallReaderPtr {
        return std::make_unique<Harmony>(window, emitter);
      },
      .required = CallSpelling{.open = "<|channel|>commentary to=functions.",
                               .name_end = " <|constrain|>json<|message|>",
                               .close = "",
                               .is_single = true},
      .channels = Channels{.reasoning_header = "<|channel|>analysis<|message|>",
                           .answer_header = "<|channel|>final<|message|>",
                           .reasoning_name = "analysis",
                           .next_channel = "<|end|><|start|>assistant<|channel|>",
                           .ends = {"<|end|>", "<|call|>", "<|return|>"}},
  };
  return spec;
}

}  // namespace realizar::text
