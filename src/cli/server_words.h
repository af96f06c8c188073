// The command line of llama.cpp's llama-server, for a program that is called as realizar-server: the same flags, as far
// as they apply here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "realizar/result.h"

namespace realizar::cli {

// Whether a program with that path acts as a llama-server: realizar-server, or llama-server as a link to it.
bool is_llama_server(std::string_view program);

struct ServerWords {
  std::vector<std::string> words;  // of `realizar serve`, beginning with that word
  std::vector<std::string> notes;  // ignored flags, and why
};

// `given`: without the program. Errors: InvalidArgument for a flag that cannot be honoured, with the alternative.
Result<ServerWords> words_of_llama_server(const std::vector<std::string>& given);

}  // namespace realizar::cli
