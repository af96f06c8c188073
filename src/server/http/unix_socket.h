// Listening Unix sockets.
#pragma once

#include <string>

#include "realizar/result.h"

namespace realizar::server {

// A listening socket, non-blocking. Replaces a socket that a server left; any other file at that path is kept. Errors:
// ResourceExhausted, subject "host".
Result<int> listen_on_path(const std::string& path);

// Opens the socket on which a server answers other commands of the user who started it. Creates its folder,
// which only that user can access.
Result<int> open_owner_socket(const std::string& path);

// Whether the process at the other end is the user's own, or root's.
bool comes_from_owner(int connected_fd);

}  // namespace realizar::server
