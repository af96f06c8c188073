#include "mcp/stdio_transport.h"

#include <fmt/format.h>

#include <utility>

#include "base/caught.h"
#include "base/printable.h"
#include "base/try.h"

namespace realizar::mcp {
namespace {

constexpr auto kSlowStart = std::chrono::seconds(10);
constexpr size_t kMaxLastWords = 3;
constexpr size_t kMaxShownBytes = 300;

}  // namespace

StdioTransport::StdioTransport(const ProgramSource& source, Tell log, Tell warn)
    : log_(std::move(log)), warn_(std::move(warn)) {
  auto program = Program::start(source, {.on_line = [this](std::string_view line) { take_line(line); },
                                         .on_error_line = [this](std::string_view line) { take_error_line(line); },
                                         .on_end = [this](const std::string& how) { take_end(how); }});
  const std::lock_guard lock(mutex_);
  if (program.ok()) {
    program_ = std::move(*program);
  } else {
    status_ = program.error();
  }
}

StdioTransport::~StdioTransport() {
  const std::lock_guard lock(mutex_);
  is_ending_ = true;
}

Result<Answer> StdioTransport::ask(const Session&, const Outgoing& request, const Patience& patience) {
  {
    const std::lock_guard lock(mutex_);
    RZ_CHECK_OK(status_);
    asked_[request.id] = std::nullopt;
    n_server_requests_ = 0;
  }
  const Status sent = program_->write_line(request_text(request.id, request.method, request.params));
  auto answer = sent.ok() ? wait_for(request.id, request.method == "initialize", patience) : sent.error();
  const std::lock_guard lock(mutex_);
  asked_.erase(request.id);
  return answer;
}

Result<Answer> StdioTransport::wait_for(uint64_t id, bool is_first, const Patience& patience) {
  const auto slow_at = Clock::now() + kSlowStart;
  bool has_told = !is_first;
  std::unique_lock lock(mutex_);
  while (true) {
    if (std::optional<Result<Answer>>& answer = asked_[id]) return std::move(*answer);
    RZ_CHECK_OK(status_);
    RZ_CHECK_OK(patience.status());
    if (!has_told && Clock::now() >= slow_at) {
      has_told = true;
      lock.unlock();
      warn_("it has not answered for 10 s; what npx or uvx has to fetch first takes a while");
      lock.lock();
      continue;
    }
    news_.wait_for(lock, kPollInterval);
  }
}

Status StdioTransport::tell(const Session&, const std::string& message, const Patience&) {
  {
    const std::lock_guard lock(mutex_);
    RZ_CHECK_OK(status_);
  }
  return program_->write_line(message);
}

// The session ends with the program.
void StdioTransport::end(const Session&, const Patience& patience) {
  if (program_ == nullptr) return;
  std::unique_lock lock(mutex_);
  is_ending_ = true;
  program_->stop();
  while (status_.ok() && patience.status().ok()) news_.wait_for(lock, kPollInterval);
}

// A line that looks like a message but cannot be parsed may be an answer: no request should wait for it.
void StdioTransport::take_line(std::string_view line) {
  auto messages = read_messages(line);
  if (messages.ok()) {
    for (Message& message : *messages) take_message(message);
    return;
  }
  if (line.starts_with('{')) return fail_all(messages.error());
  const bool is_blank = line.find_first_not_of(" \t\r") == std::string_view::npos;
  if (is_blank || std::exchange(has_told_of_noise_, true)) return;
  warn_("it prints something other than the protocol's messages, which is ignored: " + shown(line));
}

void StdioTransport::fail_all(Error error) {
  const std::lock_guard lock(mutex_);
  for (auto& [id, answer] : asked_) {
    if (!answer) answer.emplace(error);
  }
  news_.notify_all();
}

void StdioTransport::take_message(Message& message) {
  const bool is_error = message.kind == Message::Kind::kError;
  if (message.kind == Message::Kind::kRequest) {
    const bool is_answered = [&] {
      const std::lock_guard lock(mutex_);
      return program_ != nullptr && ++n_server_requests_ <= kMaxServerRequests;
    }();
    if (is_answered) static_cast<void>(program_->write_line(reply_text(message)).ok());
    return;
  }
  if (is_error && message.id.is_null())
    return fail_all(format_error("it refuses: " + shown(message.error.message, kMaxShownBytes), "answer"));
  const bool is_answer = is_error || message.kind == Message::Kind::kResult;
  if (!is_answer || !message.id.is_number_unsigned()) return;
  const std::lock_guard lock(mutex_);
  const auto asked = asked_.find(message.id.get<uint64_t>());
  if (asked == asked_.end() || asked->second) return;
  asked->second.emplace(answer_of(std::move(message)));
  news_.notify_all();
}

void StdioTransport::take_error_line(std::string_view line) {
  const std::string text = shown(line, kMaxShownBytes);
  {
    const std::lock_guard lock(mutex_);
    last_words_.push_back(text);
    if (last_words_.size() > kMaxLastWords) last_words_.pop_front();
  }
  log_(text);
}

void StdioTransport::take_end(const std::string& how) {
  std::string text = how;
  bool was_asked_for = false;
  {
    const std::lock_guard lock(mutex_);
    for (size_t i = 0; i < last_words_.size(); ++i) text += (i == 0 ? ": " : " / ") + last_words_[i];
    status_ = not_found(text, "answer");
    was_asked_for = is_ending_;
    news_.notify_all();
  }
  if (!was_asked_for) warn_(text);
}

}  // namespace realizar::mcp
