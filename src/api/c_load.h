// How options of loading cross the C interface.
#pragma once

#include "api/c_support.h"

namespace realizar::c {

// Zeroes and null pointers give the defaults. Errors: InvalidArgument naming the field.
Result<LoadOptions> to_load_options(const rz_load_options& given);

}  // namespace realizar::c
