#include "backend/cuda/command.h"

#include <algorithm>
#include <span>

namespace realizar::cuda {
namespace {

class UsesVisitor {
 public:
  void reads(ActId act) { add(uses_.read, act); }
  void writes(ActId act) { add(uses_.written, act); }
  void adds_to(ActId act) {
    reads(act);
    writes(act);
  }
  void matrix(const char*, WeightId) {}
  void vector(const char*, WeightId) {}
  template <class Value>
  void trait(const char*, const Value&, const Value&) {}

  const ActUses& uses() const { return uses_; }

 private:
  static void add(std::span<ActId> list, ActId act) { *std::ranges::find(list, kNoAct) = act; }

  ActUses uses_;
};

}  // namespace

ActUses uses_of(const Command& command) {
  UsesVisitor visitor;
  std::visit([&](const auto& op) { op.visit(visitor); }, command);
  return visitor.uses();
}

}  // namespace realizar::cuda
