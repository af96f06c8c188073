// Recognizes files that users mistake for supported models, and says what to do.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

namespace realizar {

// Describes a file with this beginning, with advice, e.g. "a web page. Download the file itself". Empty: unknown.
std::string foreign_file_advice(std::span<const std::byte> beginning);

// Likewise for a folder with PyTorch weights. Empty: it has none.
std::string pytorch_folder_advice(const std::filesystem::path& folder);

}  // namespace realizar
