// Conversations in files: those that a user saves, and the last chat on this machine, which `--continue` resumes. The
// latter is stored next to the history, readable only by its owner.
#pragma once

#include <filesystem>
#include <optional>

#include "base/files.h"
#include "cli/conversation.h"
#include "realizar/result.h"

namespace realizar::cli {

// Errors: InvalidArgument (the system's reason).
Status write_conversation(const std::filesystem::path& path, const Conversation& conversation, Readers readers);
// Errors: those of read_file_or_pipe; FormatError.
Result<Conversation> read_conversation(const std::filesystem::path& path);

// realizar/conversation.json in the folder of history_path(); nullopt if the environment defines none.
std::optional<std::filesystem::path> last_chat_path();
// Like write_conversation; creates the folder if necessary.
Status keep_last_chat(const std::filesystem::path& path, const Conversation& conversation);
// Like read_conversation; NotFound if no chat was kept.
Result<Conversation> read_last_chat(const std::filesystem::path& path);

}  // namespace realizar::cli
