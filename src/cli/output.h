// Careful use of standard output, standard error and terminals: every write is checked, errors are one line.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>

#include "realizar/result.h"

namespace realizar::cli {

// Opens /dev/null in place of closed standard streams. Otherwise the next opened file would take one of their numbers,
// and receive printed text. Reading and writing still fail, as with a closed stream. False if that is impossible.
bool hold_closed_streams();

// Writes and flushes; false once standard output cannot be written (full disk). The reason is printed once. A closed
// pipe ends the process by SIGPIPE.
bool print(std::string_view text);
bool print_line(std::string_view text);
// Prints text from a model or its file: for a terminal, control characters are spelled out, since it would interpret
// them; a file or a pipe gets every byte unchanged.
bool print_model_text(std::string_view text);

// Likewise for a complete line, of which a file gets all or nothing.
bool print_whole_line(std::string_view line);
// Cuts `file` to n_bytes if standard output appends to it.
Status cut_output(const std::string& file, uint64_t n_bytes);

// One line on standard error, "realizar: message", with control characters spelled out. Returns kFailure.
int fail(const Error& error);
// Likewise; kInterrupted for Cancelled.
int fail_or_interrupted(const Error& error);
// "realizar: message" on standard error, in the same form.
void warn(std::string_view message);
// warn() for each note about differences of a converted model, and for its missing tensors.
void warn_of_differences(std::span<const std::string> notes, std::span<const std::string> left_out);

// While it exists, lines of warn() and fail() go to `write` instead of standard error.
class WarningsGoTo {
 public:
  explicit WarningsGoTo(std::function<void(std::string line)> write);
  ~WarningsGoTo();
  WarningsGoTo(const WarningsGoTo&) = delete;
  WarningsGoTo& operator=(const WarningsGoTo&) = delete;
};

// The descriptor for everything but answers: the terminal that shows the answers, else standard error.
int side_fd(bool prints_json);
// The terminal for editing input, if `side` and standard input are terminals; -1: none.
int editing_fd(int side);

// From now on no stream counts as a terminal: the program's parent forwards their text.
void treat_terminals_as_pipes();
bool is_terminal(int fd);
bool stdin_is_terminal();
bool stdout_is_terminal();
bool stderr_is_terminal();

// Whether `fd` is a terminal that interprets escape sequences (TERM is set, and not "dumb").
bool obeys_escapes(int fd);
// Whether text there may have colours and weights: as above, unless NO_COLOR is set.
bool shows_styles(int fd);
// Its width; 80 if unknown.
uint32_t terminal_columns(int fd);

// Reads characters as UTF-8 if the environment sets no locale, or one that this machine does not have.
void use_utf8_locale();

enum class Style { kPlain, kBold, kDim, kRed };
// `text` in that style, if `fd` supports styles.
std::string styled(std::string_view text, Style style, int fd);

// A sign of activity on standard error, if that is a terminal, while there is nothing else to show, e.g. while a long
// prompt is read.
class Spinner {
 public:
  // Shows `what` and the elapsed seconds, after a noticeable time. `shown` false: never.
  Spinner(std::string what, bool shown);
  Spinner(const Spinner&) = delete;
  Spinner& operator=(const Spinner&) = delete;
  ~Spinner() { stop(); }

  // Erases it; nothing is drawn after this has returned.
  void stop();

 private:
  void draw();

  std::string what_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace realizar::cli
