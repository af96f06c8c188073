// Calls as a model of a format writes them, for templates that do not write those of earlier turns.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>

#include "text/output/output_format.h"

namespace realizar::text {

struct WrittenCall {
  std::string_view name;
  const nlohmann::ordered_json& arguments;  // an object, or a text that is no JSON
};

// In the general form where the format has none.
std::string written_calls(const OutputFormat& format, std::span<const WrittenCall> calls);

}  // namespace realizar::text
