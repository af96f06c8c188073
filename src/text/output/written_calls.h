// Calls written in a model's format, for templates that do not print those of earlier turns.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

#include "text/output/output_format.h"

namespace realizar::text {

struct WrittenCall {
  std::string_view name;
  const nlohmann::ordered_json& arguments;  // an object, or a text that is not JSON
};

// Uses the general form if the format has none.
std::string written_calls(const OutputFormat& format, std::span<const WrittenCall> calls);

}  // namespace realizar::text
