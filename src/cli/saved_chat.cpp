#include "cli/saved_chat.h"

#include <string>

#include "base/try.h"
#include "cli/input_history.h"

namespace realizar::cli {
namespace {

constexpr uint64_t kMaxBytes = uint64_t{1} << 30;

}  // namespace

Status write_conversation(const std::filesystem::path& path, const Conversation& conversation, Readers readers) {
  RZ_TRY(NewFile file, NewFile::create(path, readers));
  RZ_CHECK_OK(file.write(conversation.to_json()));
  return file.commit();
}

Result<Conversation> read_conversation(const std::filesystem::path& path) {
  RZ_TRY(const std::string text, read_file_or_pipe(path, kMaxBytes));
  auto read = Conversation::from_json(text);
  if (!read.ok()) return format_error(path.string() + ": " + read.error().message, path.string());
  return read;
}

std::optional<std::filesystem::path> last_chat_path() {
  const auto history = history_path();
  return history ? std::optional(history->parent_path() / "conversation.json") : std::nullopt;
}

Status keep_last_chat(const std::filesystem::path& path, const Conversation& conversation) {
  RZ_CHECK_OK(make_private_folders(path.parent_path()));
  return write_conversation(path, conversation, Readers::kOwnerAlone);
}

Result<Conversation> read_last_chat(const std::filesystem::path& path) {
  if (!version_at(path)) return not_found("no chat was saved in " + path.string() + " to go on with", "continue");
  return read_conversation(path);
}

}  // namespace realizar::cli
