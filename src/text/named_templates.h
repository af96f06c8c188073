// Usual chat templates by the names that llama.cpp has for them, for models whose files bring none.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace realizar::text {

// The Jinja source; nullopt: there is none of that name.
std::optional<std::string_view> find_named_template(std::string_view name);
// All names, with commas between them.
std::string template_names();

}  // namespace realizar::text
