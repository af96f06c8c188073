// A server that goes on without the terminal from which it was started.
#pragma once

#include "realizar/result.h"

namespace realizar::cli {

// Starts this program again with its own words, without --background, in a session of its own whose output goes to
// serve.log in the user's state folder; and waits until that server answers other commands, or has ended. Gives the
// exit code. Errors: InvalidArgument where the session has no runtime folder or a server runs already; Internal where
// the server ends.
Result<int> start_in_background();

// The listening socket that systemd passed to this process (sd_listen_fds(3)), once; -1: it passed none.
int take_passed_socket();

}  // namespace realizar::cli
