// An adapter as flags and the C interface name it.
#pragma once

#include <string_view>

#include "realizar/adapter.h"
#include "realizar/result.h"

namespace realizar {

// "[NAME=]PATH[:SCALE]"; without a name it is the file's or the folder's, without the ending .gguf. Errors:
// InvalidArgument.
Result<AdapterSource> parse_adapter(std::string_view text);

}  // namespace realizar
