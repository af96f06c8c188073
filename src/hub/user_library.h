// The models of whoever runs this process: the program and the library both look for names here.
#pragma once

#include <filesystem>

#include "hub/library.h"

namespace realizar::hub {

// `store`: the folder of models that were pulled; empty: the user's own.
Library user_library(const std::filesystem::path& store = {});

// The bundled model's file, beside this code, be it the program or the library, in the build tree or the install tree;
// empty: it is not there.
std::filesystem::path bundled_file();

}  // namespace realizar::hub
