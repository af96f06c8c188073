// Standard output and error as a well-behaved program uses them: every write is checked, errors are one line.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "realizar/result.h"

namespace realizar::cli {

// Puts /dev/null in the place of standard streams that are closed. Otherwise the next file that is opened would be one
// of them, and get what is printed. Reading and writing still fail, as with a closed stream. False where it cannot be
// done.
bool hold_closed_streams();

// Writes and flushes; false once standard output cannot be written (full disk). The reason is printed once. A closed
// pipe ends the process by SIGPIPE.
bool print(std::string_view text);
bool print_line(std::string_view text);
// The same for what a model or its file says: a terminal gets control characters spelled out, since it would obey them,
// and a file or a pipe gets every byte as it is.
bool print_model_text(std::string_view text);

// The same for a line with its end, of which a file gets all or nothing.
bool print_whole_line(std::string_view line);
// Cuts `file` to n_bytes where it is what standard output appends to.
Status cut_output(const std::string& file, uint64_t n_bytes);

// One line on standard error, "realizar: message", with control characters spelled out. Gives kFailure.
int fail(const Error& error);
// The same; kInterrupted for what was cancelled.
int fail_or_interrupted(const Error& error);
// "realizar: message" on standard error, alike.
void warn(std::string_view message);
// The same for each note on what a model's new file differs in, and for the tensors that it lacks.
void warn_of_differences(std::span<const std::string> notes, std::span<const std::string> left_out);

// While it lives, lines of warn() and fail() go to `write` and not to standard error.
class WarningsGoTo {
 public:
  explicit WarningsGoTo(std::function<void(std::string line)> write);
  ~WarningsGoTo();
  WarningsGoTo(const WarningsGoTo&) = delete;
  WarningsGoTo& operator=(const WarningsGoTo&) = delete;
};

// Where goes what is no answer: to the terminal that shows the answers, else to standard error.
int side_fd(bool prints_json);
// The terminal that input is edited on, where `side` is one and standard input too; -1: none.
int editing_fd(int side);

// From now on none is one: whoever started the program hands its terminals' texts on.
void treat_terminals_as_pipes();
bool is_terminal(int fd);
bool stdin_is_terminal();
bool stdout_is_terminal();
bool stderr_is_terminal();

}  // namespace realizar::cli
