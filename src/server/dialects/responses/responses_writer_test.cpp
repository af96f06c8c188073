#include "server/dialects/responses/responses_writer.h"

#include <gtest/gtest.h>

namespace realizar::server {
namespace {

using Kind = text::OutputEvent::Kind;

// The JSON of each event.
std::vector<Json> events_in(const std::string& bytes) {
  std::vector<Json> events;
  for (size_t at = bytes.find("data: "); at != std::string::npos; at = bytes.find("data: ", at + 1)) {
    const size_t begin = at + 6;
    events.push_back(Json::parse(bytes.substr(begin, bytes.find('\n', begin) - begin)));
  }
  return events;
}

std::vector<std::string> types_of(const std::vector<Json>& events) {
  std::vector<std::string> types;
  for (const Json& event : events) types.push_back(event["type"].get<std::string>().substr(9));  // after "response."
  return types;
}

// The events to send.
std::string bytes_of_events(ResponseWriter& writer) {
  std::string bytes;
  writer.long_events()->write(bytes, SIZE_MAX);
  return bytes;
}

// Ends a stream as the server does.
void end_stream(ResponseWriter& writer) {
  JsonPieces copy;
  if (writer.put_copy({}, {}, copy) > 0) {
    std::string text;
    copy.write(text, SIZE_MAX);
    writer.keep_copy(std::move(text));
  }
  writer.stream_end({}, nullptr);
}

ResponseTelling telling(ResponseStore* store = nullptr) {
  ToolNames names;
  names.add("", "note");
  ResponseTelling told;
  told.id = "resp_1";
  told.model = "m";
  told.tool_names = std::move(names);
  told.custom_tools = {"note"};
  told.echoed = response_echo(Json::object(), Request(), store != nullptr);
  if (store != nullptr) told.shelf = ResponseShelf{store, 7, "[]", {}};
  return told;
}

// A thought and a call of a custom tool, twice.
ChoiceUpdate two_calls() {
  ChoiceUpdate update;
  for (size_t i = 0; i < 2; ++i) {
    update.events.push_back({Kind::kReasoning, 0, "So"});
    update.events.push_back({Kind::kToolCallBegin, i, "note"});
    update.events.push_back({Kind::kToolCallArguments, i, R"({"input": "a\)"});
    update.events.push_back({Kind::kToolCallArguments, i, R"(nb"})"});
    update.events.push_back({Kind::kToolCallEnd, i, ""});
  }
  return update;
}

// OpenAI's client requires that a part is added before it grows.
TEST(ResponsesWriter, ThoughtsStandBeforeEachCall) {
  const auto owned = responses_writer(telling());
  ResponseWriter& writer = *owned;
  writer.stream_begin();
  writer.stream_update(0, two_calls());
  end_stream(writer);
  const std::vector<Json> events = events_in(bytes_of_events(writer));
  for (size_t i = 0; i < events.size(); ++i) EXPECT_EQ(events[i]["sequence_number"], i);
  const std::vector<std::string> of_item{"output_item.added",
                                         "content_part.added",
                                         "reasoning_text.delta",
                                         "reasoning_text.done",
                                         "content_part.done",
                                         "output_item.done",
                                         "output_item.added",
                                         "custom_tool_call_input.delta",
                                         "custom_tool_call_input.delta",
                                         "custom_tool_call_input.done",
                                         "output_item.done"};
  std::vector<std::string> expected{"created", "in_progress"};
  for (int i = 0; i < 2; ++i) expected.insert(expected.end(), of_item.begin(), of_item.end());
  expected.push_back("completed");
  EXPECT_EQ(types_of(events), expected);
  const Json& output = events.back()["response"]["output"];
  ASSERT_EQ(output.size(), 4u);
  for (const size_t i : {size_t{0}, size_t{2}}) {
    EXPECT_EQ(output[i]["content"], Json::parse(R"([{"type": "reasoning_text", "text": "So"}])"));
    EXPECT_EQ(output[i + 1]["type"], "custom_tool_call");
    EXPECT_EQ(output[i + 1]["input"], "a\nb");
  }
  EXPECT_FALSE(output[0].contains("encrypted_content"));
}

TEST(ResponsesWriter, ReasoningIsPackedForClientsThatSendItBack) {
  ResponseTelling told = telling();
  told.tells_reasoning = true;
  const auto owned = responses_writer(std::move(told));
  ResponseWriter& writer = *owned;
  writer.stream_begin();
  writer.stream_update(0, two_calls());
  end_stream(writer);
  const auto events = events_in(bytes_of_events(writer));
  const Json& packed = events.back()["response"]["output"][0]["encrypted_content"];
  EXPECT_EQ(unpacked_reasoning(packed.get<std::string>()), "So");
}

// The last events contain the whole answer with its log-probabilities: each is made only when it is sent.
TEST(ResponsesWriter, LongEventsAreWrittenInSteps) {
  constexpr size_t kTokens = 2000;
  ResponseTelling told = telling();
  told.token = [](TokenId) { return "a"; };
  const auto owned = responses_writer(std::move(told));
  ResponseWriter& writer = *owned;
  writer.stream_begin();
  ChoiceUpdate update;
  update.events.push_back({Kind::kContent, 0, std::string(kTokens, 'a')});
  for (size_t i = 0; i < kTokens; ++i) update.tokens.add(TokenId{1}, -1, {});
  writer.stream_update(0, update);
  static_cast<void>(bytes_of_events(writer));
  ChoiceUpdate call;
  call.events.push_back({Kind::kToolCallBegin, 0, "note"});
  writer.stream_update(0, call);
  end_stream(writer);
  JsonPieces& events = *writer.long_events();
  const uint64_t n_steps = events.n_steps();
  const std::vector<Json> told_events = events_in(bytes_of_events(writer));
  EXPECT_GT(events.n_steps() - n_steps, 4 * kTokens);
  const std::vector<std::string> expected{"output_text.done", "content_part.done", "output_item.done",
                                          "output_item.added", "completed"};
  EXPECT_EQ(types_of(told_events), expected);
  EXPECT_EQ(told_events[0]["logprobs"].size(), kTokens);
  const Json& message = told_events.back()["response"]["output"][0];
  EXPECT_EQ(message["content"][0]["logprobs"], told_events[0]["logprobs"]);
}

TEST(ResponsesWriter, AResponseInTheBackgroundIsStoredFromItsBeginningOn) {
  ResponseStore store({});
  const auto status = [&] { return Json::parse(store.find(7, "resp_1")->response)["status"]; };
  const auto writer_in_background = [&] {
    ResponseTelling told = telling(&store);
    told.in_background = true;
    return responses_writer(std::move(told));
  };
  const auto done_writer = writer_in_background();
  ResponseWriter& done = *done_writer;
  done.stream_begin();
  EXPECT_EQ(status(), "queued");
  EXPECT_FALSE(store.find(7, "resp_1")->is_over);
  done.stream_update(0, two_calls());
  EXPECT_EQ(status(), "in_progress");
  end_stream(done);
  EXPECT_EQ(status(), "completed");
  EXPECT_TRUE(store.find(7, "resp_1")->is_over);
  const std::vector<std::string> types = types_of(events_in(bytes_of_events(done)));
  EXPECT_EQ(types[1], "queued");
  EXPECT_EQ(types[2], "in_progress");

  const auto cancelled = writer_in_background();
  cancelled->stream_begin();
  EXPECT_EQ(cancelled->stream_error({499, "it was cancelled", "", "cancelled"}), "");
  EXPECT_EQ(status(), "cancelled");
  const auto failed = writer_in_background();
  failed->stream_begin();
  const auto events = events_in(failed->stream_error({504, "too late", "", "timeout"}));
  EXPECT_EQ(types_of(events), std::vector<std::string>{"failed"});
  EXPECT_EQ(events[0]["response"]["error"]["code"], "server_error");
  EXPECT_EQ(status(), "failed");
}

}  // namespace
}  // namespace realizar::server
