// Parses adapters as flags and the C interface name them.
#pragma once

#include <string_view>

#include "realizar/adapter.h"
#include "realizar/result.h"

namespace realizar {

// "[NAME=]PATH[:SCALE]"; the default name is that of the file or folder, without the suffix .gguf. Errors:
// InvalidArgument.
Result<AdapterSource> parse_adapter(std::string_view text);

}  // namespace realizar
