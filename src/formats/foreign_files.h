// Files that people take for models and that this program does not read: what they are, and what to do.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace realizar {

// What a file with this beginning is, and what to do, e.g. "a web page. Download the file itself". Empty: not known.
std::string foreign_file_advice(std::span<const std::byte> beginning);

// The same for a folder whose weights are PyTorch's. Empty: it has none.
std::string pytorch_folder_advice(const std::filesystem::path& folder);

}  // namespace realizar
