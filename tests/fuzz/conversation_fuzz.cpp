// Any bytes as the file of a chat to continue: an accepted one is written as it was read.
#include <cstdint>
#include <cstdlib>

#include "cli/conversation.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using realizar::cli::Conversation;
  auto loaded = Conversation::from_json({reinterpret_cast<const char*>(data), size});
  if (!loaded.ok()) return 0;
  const auto again = Conversation::from_json(loaded->to_json());
  if (!again.ok() || again->to_json() != loaded->to_json()) std::abort();
  while (loaded->leave_out_oldest()) (void)loaded->template_variables();
  while (!loaded->take_back().empty()) continue;
  return 0;
}
