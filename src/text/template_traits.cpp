#include "text/template_traits.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "text/chat_template.h"
#include "text/conversation.h"
#include "text/template_probe.h"

namespace realizar::text {
namespace {

using Json = nlohmann::ordered_json;
using Messages = std::vector<Message>;

// Words that no template contains.
std::string word(std::string_view of, int number) {
  return fmt::format("zq{}{}", of, number);
}

Message said(Role role, std::string_view of, int number) {
  return {.role = role, .content = word(of, number)};
}
Message system(int number) {
  return said(Role::kSystem, "system", number);
}
Message developer(int number) {
  return said(Role::kDeveloper, "developer", number);
}
Message user(int number) {
  return said(Role::kUser, "user", number);
}
Message answer(int number) {
  return said(Role::kAssistant, "answer", number);
}
MessageCall call(int number) {
  return {word("id", number), word("name", number), {{"zqkey", word("value", number)}}};
}
Message calls(std::initializer_list<int> numbers, std::string content = "") {
  Message message{.role = Role::kAssistant, .content = std::move(content)};
  for (const int number : numbers) message.calls.push_back(call(number));
  return message;
}
Message result(int number) {
  Message message = said(Role::kTool, "result", number);
  message.tool_call_id = word("id", number);
  return message;
}

// The words of a conversation, in order.
std::vector<std::string> words_of(const Messages& messages) {
  std::vector<std::string> words;
  for (const Message& message : messages) {
    if (!message.reasoning.empty()) words.push_back(message.reasoning);
    if (!message.content.empty()) words.push_back(message.content);
    for (const MessageCall& one : message.calls) {
      words.push_back(one.name);
      words.push_back(one.arguments.is_object() ? one.arguments.value("zqkey", "") : one.arguments.get<std::string>());
    }
  }
  return words;
}

bool has_in_order(std::string_view text, const std::vector<std::string>& words) {
  size_t at = 0;
  return std::ranges::all_of(words, [&](const std::string& one) {
    at = text.find(one, at);
    if (at != std::string_view::npos) at += one.size();
    return at != std::string_view::npos;
  });
}

Json tool_of(Json parameters) {
  return {{"type", "function"},
          {"function", {{"name", "zqtool"}, {"description", "zq description"}, {"parameters", std::move(parameters)}}}};
}

Json full_tool() {
  return tool_of({{"type", "object"},
                  {"properties", {{"zqproperty", {{"type", "string"}, {"description", "zqhint"}}}}},
                  {"required", {"zqproperty"}}});
}

// Asks one template about one trait after the other: known traits shape the conversations for the next one.
class Asking {
 public:
  explicit Asking(const ChatTemplate& chat_template) : probe_(chat_template) {}

  TemplateTraits all() {
    ask_content();
    ask_calls();
    ask_turns();
    ask_texts_with_calls();
    ask_systems();
    ask_thoughts();
    ask_tools();
    return traits_;
  }

 private:
  Json variables_of(Messages messages, const Json& tools = Json::array()) const {
    return TemplateProbe::variables_of({std::move(messages), tools}, traits_, /*begins_answer=*/true);
  }

  std::optional<std::string> prompt(const Messages& messages, const Json& tools = Json::array()) {
    return probe_.rendered(variables_of(messages, tools));
  }

  bool arrives(const Messages& messages) {
    const auto text = prompt(messages);
    return text && has_in_order(*text, words_of(messages));
  }

  // Turns the trait off unless all conversations arrive with it.
  void ask(bool TemplateTraits::*trait, std::initializer_list<Messages> conversations) {
    traits_.*trait = true;
    traits_.*trait = std::ranges::all_of(conversations, [this](const Messages& one) { return arrives(one); });
  }

  void ask_content() {
    for (const bool null_tools : {false, true}) {
      for (const bool as_parts : {false, true}) {
        traits_.null_tools = null_tools;
        traits_.content_as_parts = as_parts;
        if (arrives({user(1)})) return;
      }
    }
    traits_.null_tools = traits_.content_as_parts = false;
  }

  // If several variants of no content arrive, the shortest prompt is best: some templates print "None", or an empty
  // turn in addition to the calls.
  bool ask_no_content(const Messages& conversation) {
    using NoContent = TemplateTraits::NoContent;
    size_t least = std::numeric_limits<size_t>::max();
    NoContent best = NoContent::kEmpty;
    for (const NoContent form : {NoContent::kEmpty, NoContent::kNull, NoContent::kAbsent}) {
      traits_.no_content = form;
      if (!arrives(conversation)) continue;
      const size_t n_bytes = prompt(conversation)->size();
      if (n_bytes < least) best = form;
      least = std::min(least, n_bytes);
    }
    traits_.no_content = best;
    return least < std::numeric_limits<size_t>::max();
  }

  bool ask_call_forms(const Messages& conversation) {
    for (const bool as_text : {false, true}) {
      for (const bool short_ids : {false, true}) {
        traits_.arguments_as_text = as_text;
        traits_.needs_short_ids = short_ids;
        if (ask_no_content(conversation)) return true;
      }
    }
    traits_.arguments_as_text = traits_.needs_short_ids = false;
    return false;
  }

  void ask_calls() {
    const Messages whole = {user(1), calls({1}), result(1), answer(1), user(2)};
    traits_.takes_calls = ask_call_forms(whole);
    if (!traits_.takes_calls) {
      traits_.takes_calls = true;
      traits_.takes_results = false;
      traits_.takes_calls = ask_call_forms(whole);
    }
    if (!traits_.takes_calls) ask(&TemplateTraits::takes_results, {whole});
    Message cut = calls({1});
    cut.calls.front().arguments = "zqcut";
    if (traits_.takes_calls) ask(&TemplateTraits::takes_cut_arguments, {{user(1), cut, result(1), answer(1), user(2)}});
  }

  void ask_turns() {
    ask(&TemplateTraits::takes_user_neighbours, {{user(1), user(2)}, {user(1), answer(1), user(2), user(3)}});
    ask(&TemplateTraits::takes_assistant_neighbours, {{user(1), answer(1), answer(2), user(2)}});
    ask(&TemplateTraits::takes_answer_first, {{answer(1), user(1)}});
    ask(&TemplateTraits::takes_turns_across_calls, {{user(1), calls({1}), result(1), user(2)},
                                                    {user(1), calls({1}), user(2)},
                                                    {user(1), answer(1), calls({1}), result(1), answer(2), user(2)}});
    ask(&TemplateTraits::takes_parallel_calls,
        {{user(1), calls({1, 2}), result(1), result(2), answer(1), user(2)}, {user(1), calls({1, 2}), user(2)}});
  }

  void ask_texts_with_calls() {
    using TextWithCalls = TemplateTraits::TextWithCalls;
    const Messages loop = {
        user(1), calls({1}, word("text", 1)), result(1), calls({2}, word("text", 2)), result(2), answer(1),
        user(2), calls({3}, word("text", 3)), result(3)};
    for (const auto place : {TextWithCalls::kSameMessage, TextWithCalls::kMessageBefore, TextWithCalls::kTurnBefore}) {
      traits_.text_with_calls = place;
      if (arrives(loop)) return;
    }
    traits_.text_with_calls = TextWithCalls::kSameMessage;
    traits_.takes_calls = false;
    ask(&TemplateTraits::takes_results, {loop});
  }

  // A role whose name is merely printed, like any other's would be, is not one that the model knows.
  bool knows_developer() {
    constexpr std::string_view kRole = "developer", kOther = "zqrole";
    Json variables = variables_of({developer(1), user(1)});
    const auto known = probe_.rendered(variables);
    variables["messages"][0]["role"] = kOther;
    auto other = probe_.rendered(variables);
    if (!known || !other) return known.has_value();
    for (size_t at = 0; (at = other->find(kOther, at)) != std::string::npos;) other->replace(at, kOther.size(), kRole);
    return *other != *known;
  }

  void ask_systems() {
    ask(&TemplateTraits::takes_system,
        {{system(1), user(1)}, {system(1), user(1), answer(1), user(2)}, {system(1), user(1), calls({1}), result(1)}});
    ask(&TemplateTraits::takes_developer, {{developer(1), user(1)}, {developer(1), user(1), calls({1}), result(1)}});
    traits_.takes_developer = traits_.takes_system && traits_.takes_developer && knows_developer();
    ask(&TemplateTraits::takes_several_systems, {{system(1), system(2), user(1)}, {system(1), developer(2), user(1)}});
    ask(&TemplateTraits::takes_later_system, {{system(1), user(1), answer(1), system(2), user(2)},
                                              {user(1), answer(1), developer(2), user(2)},
                                              {user(1), system(2)},
                                              {user(1), calls({1}), result(1), system(2), calls({2}), result(2)}});
    traits_.needs_user = !arrives({system(1)}) || !arrives({system(1), answer(1)});
  }

  // If it reads no name, the usual one stays: a client's variable may make the template read it.
  void ask_thoughts() {
    constexpr auto kNames = std::to_array<const char*>(
        {"reasoning_content", "reasoning", "thinking", "thought", "thoughts", "reasoning_text", "thinking_content"});
    traits_.opens_thoughts = opens_any_reasoning(prompt({user(1)}).value_or(""));
    Message calling = calls({1}), answering = answer(1);
    calling.reasoning = answering.reasoning = word("thought", 1);
    for (const char* name : kNames) {
      traits_.thoughts_name = name;
      traits_.reads_thoughts_with_calls = arrives({user(1), calling, result(1)});
      traits_.reads_thoughts_of_answers = arrives({user(1), answering, user(2)});
      if (traits_.reads_thoughts_with_calls || traits_.reads_thoughts_of_answers) return;
    }
    traits_.thoughts_name = kNames.front();
  }

  bool has_tool(const Json& tool) {
    return std::ranges::all_of(std::array{Messages{user(1)}, Messages{user(1), calls({1}), result(1)}},
                               [&](const Messages& messages) {
                                 const auto text = prompt(messages, Json::array({tool}));
                                 return text && text->find("zqtool") != std::string::npos;
                               });
  }

  void ask_tools() {
    constexpr auto kNames = std::to_array<const char*>({"tools", "xml_tools", "available_tools"});
    const auto* found = std::ranges::find_if(kNames, [this](const char* name) {
      traits_.tools_name = name;
      return has_tool(full_tool());
    });
    if (found == kNames.end()) return traits_.tools_name.clear();
    const auto need = [this](const std::string& field, const Json& without) {
      if (!has_tool(without)) traits_.tool_fields.push_back(field);
    };
    Json tool = full_tool();
    tool["function"].erase("description");
    need("description", tool);
    tool = full_tool();
    tool["function"].erase("parameters");
    need("parameters", tool);
    for (const char* field : {"type", "properties", "required"}) {
      tool = full_tool();
      tool["function"]["parameters"].erase(field);
      need(fmt::format("parameters.{}", field), tool);
    }
    for (const char* field : {"type", "description"}) {
      tool = full_tool();
      tool["function"]["parameters"]["properties"]["zqproperty"].erase(field);
      need(fmt::format("properties.{}", field), tool);
    }
  }

  TemplateProbe probe_;
  TemplateTraits traits_;
};

std::string yes(bool is_true) {
  return is_true ? "yes" : "no";
}

}  // namespace

TemplateTraits ask_traits(const ChatTemplate& chat_template) {
  return Asking(chat_template).all();
}

std::vector<std::pair<std::string, std::string>> listed(const TemplateTraits& traits) {
  constexpr std::array<const char*, 3> kNoContent = {"empty", "null", "absent"};
  constexpr std::array<const char*, 3> kTextWithCalls = {"same message", "message before", "turn before"};
  std::string thoughts = "not read";
  if (traits.reads_thoughts_with_calls) thoughts = traits.thoughts_name + ", with calls";
  if (traits.reads_thoughts_of_answers) thoughts = traits.thoughts_name;
  return {{"content", traits.content_as_parts ? "parts" : "text"},
          {"system", yes(traits.takes_system)},
          {"developer", yes(traits.takes_developer)},
          {"several_systems", yes(traits.takes_several_systems)},
          {"later_system", yes(traits.takes_later_system)},
          {"needs_user", yes(traits.needs_user)},
          {"user_neighbours", yes(traits.takes_user_neighbours)},
          {"assistant_neighbours", yes(traits.takes_assistant_neighbours)},
          {"answer_first", yes(traits.takes_answer_first)},
          {"turns_across_calls", yes(traits.takes_turns_across_calls)},
          {"calls", yes(traits.takes_calls)},
          {"parallel_calls", yes(traits.takes_parallel_calls)},
          {"results", yes(traits.takes_results)},
          {"call_ids", traits.needs_short_ids ? "nine letters or digits" : "any"},
          {"arguments", traits.arguments_as_text ? "text" : "object"},
          {"cut_arguments", yes(traits.takes_cut_arguments)},
          {"no_content", kNoContent[static_cast<size_t>(traits.no_content)]},
          {"text_with_calls", kTextWithCalls[static_cast<size_t>(traits.text_with_calls)]},
          {"thoughts", thoughts},
          {"opens_thoughts", yes(traits.opens_thoughts)},
          {"tools", traits.tools_name.empty() ? "as text" : traits.tools_name},
          {"no_tools", traits.null_tools ? "none" : "absent"},
          {"tool_fields", fmt::format("{}", fmt::join(traits.tool_fields, ", "))}};
}

}  // namespace realizar::text
