// Common chat templates by llama.cpp's names, for models whose files have none.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace realizar::text {

// The Jinja source; nullopt for an unknown name.
std::optional<std::string_view> find_named_template(std::string_view name);
// All names, separated by commas.
std::string template_names();

}  // namespace realizar::text
