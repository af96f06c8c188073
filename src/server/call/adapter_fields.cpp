#include "server/call/adapter_fields.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/try.h"
#include "engine/adapters.h"
#include "engine/engine.h"

namespace realizar::server {
namespace {

constexpr size_t kMaxItems = 1024;

}  // namespace

Result<AdapterWish> read_adapter_list(const Json& list, const std::string& field, const ServedModel& model) {
  const std::vector<AdapterInfo> adapters = model.loaded->engine->adapters().list();
  if (!list.is_array() || list.size() > kMaxItems) {
    return wrong(field, fmt::format("expected an array of at most {} objects", kMaxItems));
  }
  AdapterWish wish;
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string where = fmt::format("{}[{}]", field, i);
    if (!list[i].is_object()) return wrong(where, "expected an object with id and scale");
    Fields item(list[i], where + ".");
    const auto id = item.integer("id", 0, INT32_MAX);
    const auto scale = static_cast<float>(item.number("scale").value_or(0));
    if (!item.status().ok()) return item.status().error();
    if (!id || static_cast<size_t>(*id) >= adapters.size()) {
      return wrong(where + ".id", fmt::format("expected the id of one of {} adapters", adapters.size()));
    }
    if (scale == 0) continue;
    if (!wish.name.empty()) return unsupported(field + ": a request has one adapter, and this list has several", field);
    wish = {adapters[static_cast<size_t>(*id)].name, scale};
  }
  return wish;
}

std::string told_name(const RequestContext& context, const ServedModel& model) {
  return context.adapter.empty() ? model.id : adapted_name(model.id, context.adapter);
}

}  // namespace realizar::server
