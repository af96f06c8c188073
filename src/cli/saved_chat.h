// Conversations in files: those that a person saves, and the last chat on this machine, which `--continue` goes on
// with. The latter is a file beside the history, for its owner's eyes alone.
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

// realizar/conversation.json in the folder of history_path(); nullopt where the environment names none.
std::optional<std::filesystem::path> last_chat_path();
// As write_conversation; makes the folder where it is missing.
Status keep_last_chat(const std::filesystem::path& path, const Conversation& conversation);
// As read_conversation; NotFound where no chat was kept.
Result<Conversation> read_last_chat(const std::filesystem::path& path);

}  // namespace realizar::cli
