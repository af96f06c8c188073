// Everything that a client sends reaches the prompt, each text in its place, in every template: the real ones of
// tests/data/chat_templates, and small ones for conversations that all of those accept.
#include "text/conversation.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>

#include "base/result_checks.h"
#include "text/chat_template.h"

namespace realizar::text {
namespace {

using Json = nlohmann::ordered_json;
using Messages = std::vector<Message>;

constexpr const char* kChatMl =
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}"
    "{% for c in m.tool_calls or [] %}[{{ c.function.name }}{{ c.function.arguments | tojson }}]{% endfor "
    "%}<|im_end|>\n"
    "{% endfor %}";

struct NamedSource {
  std::string name, source;
};

void PrintTo(const NamedSource& one, std::ostream* out) {
  *out << one.name;
}

std::vector<NamedSource> small_sources() {
  const std::string chat_ml = kChatMl;
  return {{"chat_ml", chat_ml},
          {"system_first",
           "{% for m in messages %}{% if m.role == 'system' and not loop.first %}"
           "{{ raise_exception('a system message must be the first') }}{% endif %}{% endfor %}" +
               chat_ml},
          {"system_of_first_message",
           "{% if messages[0].role in ('system', 'developer') %}<s>{{ messages[0].content }}{% endif %}"
           "{% for m in messages %}{% if m.role in ('user', 'assistant') %}<t>{{ m.content }}{% endif %}{% endfor %}"},
          {"user_demanded",
           "{% if not messages | selectattr('role', 'equalto', 'user') | list %}"
           "{{ raise_exception('no user query') }}{% endif %}" +
               chat_ml},
          {"arguments_as_text",
           "{% for m in messages %}{{ m.role }}: {{ m.content }}{% for c in m.tool_calls or [] %}"
           "{{ c.function.name + '(' + c.function.arguments + ')' }}{% endfor %}\n{% endfor %}"},
          {"parts_alone",
           "{% for m in messages %}{{ m.role }}: {% for p in m.content %}{% if p.type == 'text' %}"
           "{{ p.text }}{% endif %}{% endfor %}\n{% endfor %}"},
          {"list_of_its_own",
           "{% set seen = [] %}{% for m in messages %}{% set _ = seen.append(m.content) %}"
           "{% for c in m.tool_calls or [] %}{% set _ = seen.append(c.function.name ~ "
           "c.function.arguments | tojson) %}{% endfor %}{% endfor %}{{ seen | join('\n') }}"}};
}

std::vector<NamedSource> all_sources() {
  std::vector<NamedSource> all = small_sources();
  const std::filesystem::path folder = RZ_SOURCE_DIR "/tests/data/chat_templates/templates";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    all.push_back({entry.path().stem().string(), {std::istreambuf_iterator<char>(file), {}}});
  }
  std::ranges::sort(all, {}, &NamedSource::name);
  return all;
}

std::string rendered(const ChatTemplate& chat_template, Conversation conversation, const OutputFormat& format) {
  Json variables = fitted(std::move(conversation), chat_template.traits(), format);
  variables.update(Json{{"add_generation_prompt", true}, {"bos_token", "<s>"}, {"eos_token", "</s>"}});
  const auto pieces = chat_template.render(variables, 0);
  if (!pieces.ok()) return "error: " + pieces.error().message;
  std::string prompt;
  for (const PromptPiece& piece : *pieces) prompt += piece.text;
  return prompt;
}

Message said(Role role, int number) {
  return {.role = role, .content = fmt::format("text{} of many words", number)};
}
Message system(int number) {
  return said(Role::kSystem, number);
}
Message developer(int number) {
  return said(Role::kDeveloper, number);
}
Message user(int number) {
  return said(Role::kUser, number);
}
Message answer(int number) {
  return said(Role::kAssistant, number);
}
MessageCall call(int number) {
  return {fmt::format("toolu_01{:020}", number),
          fmt::format("function_{}", number),
          {{"path", fmt::format("file{}.txt", number)}}};
}
Message calls(std::initializer_list<int> numbers, std::string content = "") {
  Message message{.role = Role::kAssistant, .content = std::move(content)};
  for (const int number : numbers) message.calls.push_back(call(number));
  return message;
}
Message result(int number) {
  Message message{.role = Role::kTool, .content = fmt::format("result{} is there", number)};
  message.tool_call_id = call(number).id;
  return message;
}
Message without_id(Message message) {
  message.tool_call_id.clear();
  for (MessageCall& one : message.calls) one.id.clear();
  return message;
}

// All texts of a conversation, in order. `together`: the calls of a message are adjacent; otherwise each is followed by
// its result.
std::vector<std::string> texts_of(Messages messages, bool together) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < messages.size(); ++i) {
    if (!messages[i].content.empty()) texts.push_back(messages[i].content);
    for (size_t k = 0; k < messages[i].calls.size(); ++k) {
      const MessageCall& one = messages[i].calls[k];
      texts.push_back(one.name);
      if (one.arguments.is_string()) texts.push_back(one.arguments.get<std::string>());
      if (one.arguments.is_object() && !one.arguments.empty()) texts.push_back(one.arguments["path"]);
      const bool has_result = i + 1 + k < messages.size() && messages[i + 1 + k].role == Role::kTool;
      if (!together && has_result) texts.push_back(std::exchange(messages[i + 1 + k].content, ""));
    }
  }
  return texts;
}

// The first text that is not in its place; "" if all are.
std::string first_missing(std::string_view prompt, const std::vector<std::string>& texts) {
  size_t at = 0;
  for (const std::string& text : texts) {
    at = prompt.find(text, at);
    if (at == std::string_view::npos) return text;
    at += text.size();
  }
  return "";
}

std::vector<Messages> shapes() {
  Message cut = calls({1});
  cut.calls.front().arguments = "{'path': 'file1.t";
  Message bare = calls({1});
  bare.calls.front().arguments = Json::object();
  return {
      {user(1)},
      {system(1), user(2)},
      {developer(1), user(2)},
      {system(1), system(2), user(3)},
      {system(1), developer(2), user(3)},
      {developer(1), developer(2), user(3), answer(4), user(5)},
      {system(1)},
      {system(1), user(2), answer(3), user(4)},
      {user(1), user(2), answer(3), user(4), user(5)},
      {user(1), answer(2), answer(3), user(4)},
      {answer(1), user(2)},
      {system(1), answer(2), user(3)},
      {user(1), system(2)},
      {user(1), system(2), user(3)},
      {user(1), answer(2), system(3), user(4)},
      {system(1), user(2), answer(3), developer(4), user(5)},
      {system(1), user(2), answer(3), system(4), system(5), user(6), answer(7), user(8)},
      {user(1), calls({1}), result(1)},
      {system(1), user(2), calls({1}), result(1), answer(3), user(4)},
      {system(1), user(2), calls({1, 2}), result(1), result(2), answer(3), user(4)},
      {user(1), calls({1, 2, 3}), result(1), result(2), result(3)},
      {user(1), calls({1}, "text2"), result(1), calls({2}, "text3"), result(2), answer(4), user(5)},
      {system(1), user(2), calls({1, 2}, "text3"), result(1), result(2), calls({3}, "text4"), result(3)},
      {user(1), answer(2), user(3), calls({1}, "text4"), result(1), user(5), answer(6), user(7)},
      {user(1), calls({1}), result(1), user(2)},
      {user(1), calls({1}), user(2)},
      {user(1), without_id(calls({1})), without_id(result(1)), answer(2), user(3)},
      {user(1), without_id(calls({1, 2})), without_id(result(1)), without_id(result(2)), user(3)},
      {system(1), user(2), calls({1}), result(1), system(3), calls({2}), result(2)},
      {user(1), calls({1}), result(1), developer(2)},
      {user(1), cut, result(1), answer(2), user(3)},
      {user(1), bare, result(1), answer(2), user(3)},
      {user(1), calls({1}), result(1), calls({2}), result(2), calls({3}), result(3), answer(2), user(3), answer(4),
       user(5)},
  };
}

class ConversationTest : public ::testing::TestWithParam<NamedSource> {
 protected:
  void SetUp() override {
    template_ = std::make_unique<ChatTemplate>(must(ChatTemplate::parse(GetParam().source)));
    format_ = template_->output_format();
  }
  std::string prompt(const Messages& messages, const Json& tools = Json::array()) const {
    return rendered(*template_, {messages, tools}, format_);
  }

  std::unique_ptr<ChatTemplate> template_;
  OutputFormat format_;
};

TEST_P(ConversationTest, EveryTextIsInThePromptInOrder) {
  for (const Messages& messages : shapes()) {
    const std::string text = prompt(messages);
    EXPECT_EQ(first_missing(text, texts_of(messages, template_->traits().takes_parallel_calls)), "") << text;
  }
}

TEST_P(ConversationTest, ResultsInAnotherOrderStayWithTheirCalls) {
  const std::string text = prompt({user(1), calls({1, 2}), result(2), result(1), answer(2), user(3)});
  for (const char* part : {"text1", "function_1", "file1.txt", "function_2", "file2.txt", "result1", "result2"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

TEST_P(ConversationTest, AConversationThatGrowsKeepsItsMessages) {
  Messages messages = {system(1), developer(2)};
  Json before = Json::array();
  for (int turn = 0; turn < 10; ++turn) {
    const int n = 10 * turn;
    for (Message& message : Messages{user(n), calls({n + 1, n + 2}, fmt::format("text{}", n + 3)), result(n + 1),
                                     result(n + 2), system(n + 4), calls({n + 5}), result(n + 5), answer(n + 6)}) {
      messages.push_back(std::move(message));
    }
    const Json now = fitted({messages, Json::array()}, template_->traits(), format_)["messages"];
    ASSERT_GT(now.size(), before.size());
    EXPECT_EQ(Json(Json::array_t(now.begin(), now.begin() + static_cast<ptrdiff_t>(before.size()))), before);
    before = now;
  }
}

TEST_P(ConversationTest, ThoughtsReachThePromptWhereTheTemplateReadsThem) {
  Message calling = calls({1}), answering = answer(3);
  calling.reasoning = "thoughts before a call";
  answering.reasoning = "thoughts before an answer";
  const TemplateTraits& traits = template_->traits();
  const std::string loop = prompt({user(1), calling, result(1)});
  EXPECT_EQ(loop.find(calling.reasoning) != std::string::npos, traits.reads_thoughts_with_calls) << loop;
  const std::string later = prompt({user(1), answering, user(2)});
  EXPECT_EQ(later.find(answering.reasoning) != std::string::npos, traits.reads_thoughts_of_answers) << later;
}

// Parameters as clients write them; a top-level "hint" and "argument" must reach the prompt.
std::vector<Json> parameters() {
  std::vector<Json> all;
  for (
      const char* properties : {
          R"({"argument": {"type": "string", "description": "hint"}})",
          R"({"argument": {"type": "string"}})",
          R"({"argument": {"description": "hint"}})",
          R"({"argument": {}})",
          R"({"argument": {"type": ["string", "null"], "description": "hint"}})",
          R"({"argument": {"type": "string", "enum": ["one", "two"], "description": "hint"}})",
          R"({"argument": {"enum": ["one", 2, null], "description": "hint"}})",
          R"({"argument": {"type": "integer", "minimum": 0, "maximum": 9, "default": 3, "description": "hint"}})",
          R"({"argument": {"type": "number", "default": 0.5, "description": "hint"}})",
          R"({"argument": {"type": "boolean", "default": true, "description": "hint"}})",
          R"({"argument": {"type": "string", "default": null, "description": "hint"}})",
          R"({"argument": {"type": "array", "items": {"type": "string"}, "description": "hint"}})",
          R"({"argument": {"type": "array", "description": "hint"}})",
          R"({"argument": {"type": "array", "items": {}, "default": [], "description": "hint"}})",
          R"({"argument": {"type": "array", "items": {"type": "object", "properties": {"inner": {"type": "string"}}},
               "description": "hint"}})",
          R"({"argument": {"type": "object", "properties": {"inner": {"type": "string", "description": "deep"}},
               "required": ["inner"], "description": "hint"}})",
          R"({"argument": {"type": "object", "description": "hint"}})",
          R"({"argument": {"type": "object", "additionalProperties": {"type": "integer"}, "description": "hint"}})",
          R"({"argument": {"anyOf": [{"type": "string"}, {"type": "null"}], "description": "hint"}})",
          R"({"argument": {"oneOf": [{"type": "string"}, {"type": "integer"}], "description": "hint"}})",
          R"({"argument": {"allOf": [{"type": "string"}], "description": "hint"}})",
          R"({"argument": {"$ref": "#/$defs/x", "description": "hint"}})",
          R"({"argument": {"const": "fixed", "description": "hint"}})",
          R"({"argument": {"type": "string", "format": "date", "pattern": "^a", "title": "T", "description": "hint"}})",
          R"({"argument": {"type": "string", "description": null}})",
          R"({"argument": true})",
          R"({"argument": {"type": "string", "description": "hint"}, "type": {"type": "string"},
               "items": {"type": "string"}, "keys": {"type": "string"}, "get": {"type": "string"}})",
          R"({})",
      }) {
    all.push_back({{"type", "object"}, {"properties", Json::parse(properties)}, {"required", Json::array()}});
  }
  Json whole = all.front();
  for (const char* field : {"type", "properties", "required"}) {
    all.push_back(whole);
    all.back().erase(field);
    all.push_back(whole);
    all.back()[field] = nullptr;
  }
  whole["$defs"] = {{"x", {{"type", "string"}}}};
  whole["additionalProperties"] = false;
  whole["required"] = {"argument"};
  all.push_back(whole);
  all.push_back(Json::object());
  return all;
}

Json function_of(const Json& parameters) {
  return {{"type", "function"},
          {"function", {{"name", "look_up"}, {"description", "Looks something up"}, {"parameters", parameters}}}};
}

TEST_P(ConversationTest, EveryToolIsInThePrompt) {
  for (const Json& schema : parameters()) {
    const std::string text = prompt({system(1), user(2)}, Json::array({function_of(schema)}));
    std::vector<std::string> parts = {"look_up", "Looks something up", "text1", "text2"};
    const bool has_properties = schema.contains("properties") && schema["properties"].is_object();
    if (has_properties && !schema["properties"].empty()) parts.emplace_back("argument");
    if (has_properties && schema["properties"].dump().find("hint") != std::string::npos) parts.emplace_back("hint");
    for (const std::string& part : parts) {
      EXPECT_NE(text.find(part), std::string::npos) << part << " of " << schema << "\n" << text;
    }
  }
}

TEST_P(ConversationTest, AToolMayLackWhatIsOptional) {
  Json named{{"type", "function"}, {"function", {{"name", "look_up"}}}};
  Json nulls = named;
  nulls["function"].update(Json{{"description", nullptr}, {"parameters", nullptr}, {"strict", true}});
  for (const Json& tool : {named, nulls}) {
    const std::string text = prompt({user(1)}, Json::array({tool, function_of(Json::object())}));
    EXPECT_NE(text.find("look_up"), std::string::npos) << text;
    EXPECT_NE(text.find("Looks something up"), std::string::npos) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(Templates, ConversationTest, ::testing::ValuesIn(all_sources()), [](const auto& one) {
  std::string name = one.param.name;
  std::ranges::replace_if(
      name, [](unsigned char letter) { return std::isalnum(letter) == 0; }, '_');
  return name;
});

std::string prompt_of(const char* source, const Conversation& conversation) {
  const auto chat_template = ChatTemplate::parse(source);
  return chat_template.ok() ? rendered(*chat_template, conversation, {}) : chat_template.error().message;
}

TEST(ConversationTest, IdsOfNineLettersAreTheSameInEveryRequest) {
  TemplateTraits traits;
  traits.needs_short_ids = true;
  const Json once = fitted({{user(1), calls({1}), result(1)}}, traits)["messages"];
  const Json twice = fitted({{user(1), calls({1}), result(1), answer(2), user(3)}}, traits)["messages"];
  const std::string id = once[1]["tool_calls"][0]["id"];
  EXPECT_EQ(id.size(), 9);
  EXPECT_EQ(once[2]["tool_call_id"], id);
  EXPECT_EQ(twice[1]["tool_calls"][0]["id"], id);
  EXPECT_NE(fitted({{user(1), calls({2})}}, traits)["messages"][1]["tool_calls"][0]["id"], id);
}

TEST(ConversationTest, AResultWithoutAnIdBelongsToTheFirstCallThatHasNone) {
  const Json messages =
      fitted({{user(1), without_id(calls({1, 2})), without_id(result(1)), without_id(result(2))}}, {})["messages"];
  EXPECT_EQ(messages[2]["tool_call_id"], messages[1]["tool_calls"][0]["id"]);
  EXPECT_EQ(messages[3]["tool_call_id"], messages[1]["tool_calls"][1]["id"]);
}

// Quadratic work in the number of a message's calls would occupy a server's worker for minutes.
TEST(ConversationTest, TensOfThousandsOfCallsAreSplitFromTheirResults) {
  constexpr int kCalls = 40'000;
  Message calling{.role = Role::kAssistant, .content = "text", .more = {{"other", "member"}}};
  Messages messages(kCalls, system(1));
  for (int i = 0; i < kCalls; ++i) calling.calls.push_back(call(i));
  messages.push_back(calling);
  for (int i = kCalls; i-- > 0;) messages.push_back(result(i));
  messages.push_back(without_id(result(kCalls)));
  TemplateTraits traits;
  traits.takes_parallel_calls = traits.takes_answer_first = false;
  const Json fit = fitted({messages}, traits)["messages"];
  ASSERT_EQ(fit.size(), 3 * kCalls + 2);
  const Json& last = fit[3 * kCalls];
  EXPECT_EQ(fit[3 * kCalls - 1]["tool_calls"][0]["id"], call(kCalls - 1).id);
  EXPECT_EQ(last["tool_call_id"], call(kCalls - 1).id);
  EXPECT_TRUE(fit[kCalls + 1].contains("other"));
  EXPECT_FALSE(fit[kCalls + 3].contains("other"));
}

TEST(ConversationTest, ATemplateThatHitsABoundIsAskedOnce) {
  const auto bomb = must(ChatTemplate::parse(
      "{% for i in range(99999) %}{% for j in range(99999) %}{{ messages[0].content }}{% endfor %}{% endfor %}"));
  EXPECT_FALSE(bomb.traits().takes_system);
  EXPECT_FALSE(bomb.traits().takes_calls);
  EXPECT_TRUE(bomb.traits().tools_name.empty());
}

TEST(ConversationTest, ToolsThatATemplateHasNoPlaceForAreTold) {
  const std::string prompt =
      prompt_of("{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}",
                {{system(1), user(2), calls({1}), result(1)}, Json::array({function_of({{"type", "object"}})})});
  EXPECT_NE(prompt.find("{\"name\":\"look_up\""), std::string::npos) << prompt;
  EXPECT_NE(prompt.find("assistant: <tool_call>\n{\"name\": \"function_1\", \"arguments\": {\"path\":\"file1.txt\"}}"),
            std::string::npos)
      << prompt;
}

TEST(ConversationTest, ARoleThatOnlyTheTemplateKnowsPasses) {
  Message other{.role = Role::kOther, .content = "thinking", .more = {{"role", "control"}}};
  EXPECT_NE(prompt_of(kChatMl, {{other, user(1)}}).find("<|im_start|>control\nthinking<|im_end|>"), std::string::npos);
}

}  // namespace
}  // namespace realizar::text
