// gpt-oss (harmony): messages with a header that names a channel (analysis, final, commentary) and, for a call, a
// recipient: <|start|>assistant<|channel|>commentary to=functions.name <|constrain|>json<|message|>{..}<|call|>.
// Defined by hand, since its template's output for earlier calls does not show the channels.
#include "text/output/call_unit.h"
#include "text/output/formats/format.h"

namespace realizar::text {
namespace {

using JsonStep = JsonValueReader::Step;

constexpr std::string_view kMessage = "<|message|>";
constexpr std::string_view kChannel = "<|channel|>";

// The word after `before` in the header, up to white space or a marker; empty if `before` does not occur.
std::string_view word_after(std::string_view header, std::string_view before) {
  const size_t at = header.rfind(before);
  if (at == std::string_view::npos) return {};
  header.remove_prefix(at + before.size());
  return header.substr(0, header.find_first_of(" \t\r\n<"));
}

class MessageReader final : public CallReader {
 public:
  using CallReader::CallReader;

  void start(bool /*is_marked*/) override { state_ = State::kHeader; }

  Progress read() override {
    if (state_ == State::kArguments) return read_arguments();
    if (state_ == State::kDropped) return drop();
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
  bool has_whole_arguments() const override { return false; }

 private:
  // An unfinished header at the end of the generation is dropped.
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
    // A recipient in the analysis may be one of the model's own tools, whose calls are not JSON.
    const bool is_function = recipient.starts_with("functions.") && emitter_.may_call(name_);
    if (emitter_.find_tool(name_) != nullptr || (channel != "analysis" && is_function)) {
      state_ = State::kArguments;
      reader_ = {};
      return read_arguments();
    }
    window_.commit();
    const bool is_for_people = recipient.empty() || recipient == "assistant" || recipient == "user";
    if (channel != "analysis" && !is_for_people) {
      state_ = State::kDropped;
      return drop();
    }
    return channel == "analysis" ? Progress::kReasoning : Progress::kContent;
  }

  // Drops a message to an unknown recipient, up to the next mark.
  Progress drop() {
    const std::string_view rest = window_.rest();
    const size_t mark = rest.find("<|");
    const bool may_be_cut = mark == std::string_view::npos && rest.ends_with('<') && !window_.ended();
    window_.take(std::min(mark, rest.size() - (may_be_cut ? 1 : 0)));
    window_.commit();
    return mark == std::string_view::npos ? Progress::kNeedMore : Progress::kEnd;
  }

  Progress read_arguments() {
    if (!emitter_.is_open()) {
      if (!window_.skip_space()) return Progress::kNeedMore;
      if (window_.front() != '{' || !emitter_.begin(name_)) return Progress::kReject;
    }
    std::string json;
    const JsonStep step = read_json(window_, reader_, json);
    emitter_.arguments(json);
    window_.commit();
    if (step == JsonStep::kTaken) return Progress::kNeedMore;
    if (step != JsonStep::kEnd) return Progress::kReject;
    emitter_.end();
    return Progress::kEnd;
  }

  enum class State { kHeader, kArguments, kDropped } state_ = State::kHeader;
  std::string name_;
  JsonValueReader reader_;
};

}  // namespace

CallReaderPtr make_message_reader(TextWindow& window, CallEmitter& emitter) {
  return std::make_unique<MessageReader>(window, emitter);
}

const KnownFormat& gpt_oss_format() {
  static const KnownFormat format{
      .name = "gpt-oss",
      .signs = {"<|channel|>analysis"},
      .is_printed = true,
      .format = {.calls = CallForm{.arguments = CallForm::Arguments::kMessage,
                                   .open = "<|channel|>commentary to=functions.",
                                   .name_end = " <|constrain|>json<|message|>",
                                   .is_single = true},
                 .channels = Channels{.reasoning_header = "<|channel|>analysis<|message|>",
                                      .answer_header = "<|channel|>final<|message|>",
                                      .reasoning_name = "analysis",
                                      .next_channel = "<|end|><|start|>assistant<|channel|>",
                                      .to_answer = "<|end|><|start|>assistant<|channel|>final<|message|>",
                                      .call_end = "<|call|>",
                                      .ends = {"<|end|>", "<|call|>", "<|return|>"},
                                      .inner = {"<|start|>", "<|channel|>", "<|constrain|>", "<|message|>"}}},
  };
  return format;
}

}  // namespace realizar::text
