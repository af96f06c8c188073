// The command line of llama.cpp's llama-server, for a program that is called by the name realizar-server: the same
// flags, as far as they mean something here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "realizar/result.h"

namespace realizar::cli {

// Whether a program of that path is meant as a llama-server: realizar-server, or llama-server as a link to it.
bool is_llama_server(std::string_view program);

struct ServerWords {
  std::vector<std::string> words;  // of `realizar serve`, that word first
  std::vector<std::string> notes;  // what of it has no effect, and why
};

// `given`: without the program. Errors: InvalidArgument for a flag whose wish cannot be met, with what to do instead.
Result<ServerWords> words_of_llama_server(const std::vector<std::string>& given);

}  // namespace realizar::cli
