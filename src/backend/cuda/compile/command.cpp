#include "backend/cuda/compile/command.h"

#include <algorithm>

#include "base/check.h"

namespace realizar::cuda {
namespace {

static_assert(static_cast<uint32_t>(kNoAct) == static_cast<uint32_t>(kNoWeight));

class UsesVisitor {
 public:
  void reads(ActId act) { add(uses_.read, act); }
  void writes(ActId act) { add(uses_.written, act); }
  void adds_to(ActId act) {
    reads(act);
    writes(act);
  }
  void matrix(const char*, WeightId id) { add(uses_.weights, id); }
  void vector(const char*, WeightId id) { add(uses_.weights, id); }
  template <class Value>
  void trait(const char*, const Value&, const Value&) {}

  const CommandUses& uses() const { return uses_; }

 private:
  template <class Id, size_t n>
  static void add(std::array<Id, n>& list, Id id) {
    constexpr Id kNone{static_cast<uint32_t>(kNoAct)};
    if (id == kNone) return;
    const auto place = std::ranges::find(list, kNone);
    REQUIRE(place != list.end());
    *place = id;
  }

  CommandUses uses_;
};

}  // namespace

CommandUses uses_of(const Command& command) {
  UsesVisitor visitor;
  std::visit([&](const auto& op) { op.visit(visitor); }, command);
  return visitor.uses();
}

}  // namespace realizar::cuda
