#include "api/found_model.h"

#include <fmt/format.h>

#include <utility>

#include "base/try.h"
#include "hub/locate.h"

namespace realizar {

Result<FoundModel> find_model(const hub::Library& library, const std::string& given) {
  RZ_TRY(const hub::LocalModel model, hub::locate(library, given));
  RZ_TRY(auto adapter, adapter_of(model));
  RZ_TRY(hub::ModelTexts texts, hub::read_texts(model));
  return FoundModel{model.path.string(),     {std::move(texts.chat_template), std::move(texts.params)},
                    std::move(texts.system), std::move(texts.messages),
                    std::move(adapter),      model.note};
}

Result<std::optional<AdapterSource>> adapter_of(const hub::LocalModel& model) {
  if (model.adapters.empty()) return std::optional<AdapterSource>();
  if (model.adapters.size() > 1) {
    return unsupported(fmt::format("'{}' has {} adapters, and only one is supported", hub::to_string(model.name),
                                   model.adapters.size()),
                       "model");
  }
  return std::optional(AdapterSource{kStoredAdapter, model.adapters.front().string()});
}

}  // namespace realizar
