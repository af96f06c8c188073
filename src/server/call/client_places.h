// Where a client wrote what an error speaks of, when its body was read as one of another dialect.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "realizar/result.h"

namespace realizar::server {

// Places of the body that was read, and what the client wrote there: "messages[2].content" is "input[1].output". The
// first that fits is meant, so what is longer stands first.
using ClientPlaces = std::vector<std::pair<std::string, std::string>>;

// The error, told of the client's own place.
Error at_client_place(Error error, const ClientPlaces& places);

}  // namespace realizar::server
