// The literal markers of each tool format.
#pragma once

#include <string>
#include <vector>

#include "text/output/output_format.h"

namespace realizar::text {

struct ToolMarkers {
  std::vector<std::string> opening;  // begins a section of calls and is read before them
  std::vector<std::string> leading;  // begins a section too, and is the first part of what the section's reader reads
  std::vector<std::string> inner;    // stands only inside a section, or ends it
};

ToolMarkers tool_markers(ToolFormat format);

}  // namespace realizar::text
