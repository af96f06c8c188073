// A server that keeps running without the terminal from which it was started.
#pragma once

#include "realizar/result.h"

namespace realizar::cli {

// Starts this program again with the same arguments, without --background, in a new session whose output goes to
// serve.log in the user's state folder; waits until that server answers other commands, or has ended. Returns the exit
// code. Errors: InvalidArgument if the session has no runtime folder or a server is already running; Internal if the
// server ends.
Result<int> start_in_background();

// The listening socket passed by systemd (sd_listen_fds(3)), returned once; -1: none.
int take_passed_socket();

}  // namespace realizar::cli
