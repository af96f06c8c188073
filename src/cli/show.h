// Describes the model with a given name as text: everything known about it, or one part.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "hub/library.h"
#include "realizar/result.h"

namespace realizar::cli {

enum class ModelPart { kInfo, kTemplate, kParameters, kSystem, kLicense };

// "info", "template", "parameters", "system" or "license"; nullopt for any other word.
std::optional<ModelPart> model_part(std::string_view word);

// Ends with a line break. The template is the one that renders prompts. Errors: those of hub::locate and of the file.
Result<std::string> model_text(const hub::Library& library, const std::string& name, ModelPart part);

}  // namespace realizar::cli
