// The functions that every template may call.
#include <algorithm>
#include <utility>

#include "text/jinja/builtins.h"

namespace realizar::text::jinja {
namespace {

std::shared_ptr<Dict> dict_of(const Args& args) {
  auto dict = std::make_shared<Dict>();
  if (!args.positional.empty() && args.positional[0].is_dict()) dict->items = args.positional[0].dict()->items;
  for (const auto& [name, value] : args.named) dict->set(name, value);
  return dict;
}

}  // namespace

void add_globals(Scope& scope) {
  const auto add = [&scope](const char* name, Value (*function)(Interpreter&, Args&)) {
    scope.variables.insert_or_assign(name, make_function(name, function));
  };
  add("range", [](Interpreter&, Args& args) -> Value {
    const size_t n = args.positional.size();
    const int64_t start = n > 1 ? int_arg(args, 0, "start", 0) : 0;
    const Value& end = required_arg(args, n > 1 ? 1 : 0, "stop");
    if (!end.is_int() && !end.is_bool()) {
      fail(std::string("'") + type_name(end) + "' object cannot be interpreted as an integer");
    }
    const int64_t stop = end.as_int();
    const int64_t step = int_arg(args, 2, "step", 1);
    if (step == 0) fail("range() arg 3 must not be zero");
    // The limit of Jinja's sandbox, MAX_RANGE.
    constexpr double kMaxRange = 100000;
    if ((static_cast<double>(stop) - static_cast<double>(start)) / static_cast<double>(step) > kMaxRange) {
      throw TemplateError{"range is larger than 100000", true};
    }
    std::vector<Value> items;
    for (int64_t i = start; step > 0 ? i < stop : i > stop; i += step) items.emplace_back(i);
    count_steps(items.size());
    return make_list(std::move(items));
  });
  add("dict", [](Interpreter&, Args& args) -> Value { return dict_of(args); });
  add("namespace", [](Interpreter&, Args& args) -> Value {
    auto dict = dict_of(args);
    dict->is_namespace = true;
    return dict;
  });
  add("raise_exception",
      [](Interpreter&, Args& args) -> Value { fail(to_text(required_arg(args, 0, "message")).str()); });
  add("strftime_now", [](Interpreter& interpreter, Args& args) -> Value {
    constexpr int64_t kMaxDays = 1'000'000, kDay_s = 86'400;
    const int64_t days = std::clamp(int_arg(args, 1, "days", 0), -kMaxDays, kMaxDays);  // from today; our own extension
    return format_time(to_text(required_arg(args, 0, "format")).str(), interpreter.now_unix_s() + days * kDay_s);
  });
  add("joiner", [](Interpreter&, Args& args) -> Value {
    const Value separator = args.get(0, "sep") ? *args.get(0, "sep") : Value(", ");
    auto is_used = std::make_shared<bool>(false);
    return make_function("joiner", [separator, is_used](Interpreter&, Args&) -> Value {
      return std::exchange(*is_used, true) ? separator : Value("");
    });
  });
  add("cycler", [](Interpreter&, Args& args) -> Value {
    if (args.positional.empty()) fail("at least one item has to be provided");
    auto at = std::make_shared<size_t>(0);
    auto dict = std::make_shared<Dict>();
    dict->is_namespace = true;
    dict->set("next", make_function("next", [items = args.positional, at](Interpreter&, Args&) -> Value {
                return items[std::exchange(*at, (*at + 1) % items.size())];
              }));
    dict->set("reset", make_function("reset", [at](Interpreter&, Args&) -> Value {
                *at = 0;
                return None{};
              }));
    return dict;
  });
}

}  // namespace realizar::text::jinja
