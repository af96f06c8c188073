// Ollama's Modelfile, which defines a model (https://docs.ollama.com/modelfile).
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "realizar/result.h"

namespace realizar::cli {

struct Modelfile {
  std::string from;  // a model's name, or a path
  std::optional<std::string> chat_template, system, license;
  nlohmann::ordered_json parameters = nlohmann::ordered_json::object();
  nlohmann::ordered_json messages = nlohmann::ordered_json::array();  // {role, content}
};

// Errors: FormatError with the line's number; Unsupported for ADAPTER.
Result<Modelfile> parse_modelfile(std::string_view text);

}  // namespace realizar::cli
