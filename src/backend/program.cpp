#include "backend/program.h"

#include <fmt/format.h>

namespace realizar {
namespace {

// Collects an operation's fields as text: its outputs and its inputs.
class Printer {
 public:
  Printer(const Program& program, const NameWeight& name_weight) : program_(program), name_weight_(name_weight) {}

  void reads(ActId act) { append(given_, name_of(act)); }
  void writes(ActId act) { append(gives_, name_of(act)); }
  void adds_to(ActId act) {
    writes(act);
    sign_ = "+=";
  }
  void matrix(const char* name, WeightId id) { vector(name, id); }
  void vector(const char* name, WeightId id) {
    if (id == kNoWeight) return;
    const std::string weight = name_weight_ ? name_weight_(id) : fmt::format("w{}", static_cast<uint32_t>(id));
    append(given_, fmt::format("{}={}", name, weight));
  }
  template <class Value>
  void trait(const char* name, const Value& value, const Value& otherwise) {
    if (value == otherwise) return;
    if constexpr (std::is_enum_v<Value>) {
      append(given_, fmt::format("{}={}", name, realizar::name_of(value)));
    } else if constexpr (std::is_same_v<Value, float>) {
      append(given_, fmt::format("{}={:g}", name, value));
    } else {
      append(given_, fmt::format("{}={}", name, value));
    }
  }

  std::string line(const Op& op) const {
    const OpPlace place = place_of(op);
    std::string text = gives_.empty() ? "" : fmt::format("{} {} ", gives_, sign_);
    text += realizar::name_of(kind_of(op), place.role);
    if (place.layer >= 0) text += fmt::format("[{}]", place.layer);
    return text + fmt::format("({})\n", given_);
  }

 private:
  static void append(std::string& list, const std::string& item) { list += (list.empty() ? "" : ", ") + item; }
  const std::string& name_of(ActId act) const { return program_.activations[static_cast<uint32_t>(act)].name; }

  const Program& program_;
  const NameWeight& name_weight_;
  std::string gives_, given_;
  const char* sign_ = "=";
};

}  // namespace

std::string to_string(const Program& program, const NameWeight& name_weight) {
  std::string text;
  for (const ActShape& act : program.activations) {
    text += fmt::format("{} [{}, {}]\n", act.name, name_of(act.rows), act.n_cols);
  }
  for (const Op& op : program.ops) {
    Printer printer(program, name_weight);
    std::visit([&](const auto& one) { one.visit(printer); }, op);
    text += printer.line(op);
  }
  return text;
}

}  // namespace realizar
