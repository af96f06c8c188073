// Listening Unix sockets.
#pragma once

#include <string>

#include "realizar/result.h"

namespace realizar::server {

// A listening socket, non-blocking. One that a server left behind is replaced; whatever else has the path stays.
// Errors: ResourceExhausted, subject "host".
Result<int> listen_on_path(const std::string& path);

// The same for the socket on which a server answers the other commands of the user who started it. Its folder is made,
// and is that user's alone.
Result<int> open_owner_socket(const std::string& path);

// Whether the process at the other end is the user's own, or root's.
bool comes_from_owner(int connected_fd);

}  // namespace realizar::server
