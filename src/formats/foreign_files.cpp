#include "formats/foreign_files.h"

#include <fmt/format.h>

#include <string_view>
#include <system_error>

namespace realizar {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kPyTorch =
    "PyTorch weights, which run code when they are opened. Take the model's .safetensors files, or save it again in "
    "Python: AutoModelForCausalLM.from_pretrained(FOLDER).save_pretrained(NEW_FOLDER, safe_serialization=True)";
constexpr std::string_view kPickledHqq =
    "weights that hqq pickled, which run code when they are opened. Save the model again in Python: "
    "AutoHQQHFModel.save_to_safetensors(AutoHQQHFModel.from_quantized(FOLDER), NEW_FOLDER)";
constexpr std::string_view kOldGgml =
    "a file of GGML's older formats, from before GGUF. Take a GGUF file of the same model, or convert the original "
    "with llama.cpp's convert_hf_to_gguf.py";

struct ForeignFile {
  std::string_view beginning, advice;
};

// The magic numbers of GGML are 32-bit integers, little-endian: "ggjt" is stored as "tjgg".
constexpr ForeignFile kForeignFiles[] = {
    {"lmgg"sv, kOldGgml},
    {"fmgg"sv, kOldGgml},
    {"tjgg"sv, kOldGgml},
    {"algg"sv, "a LoRA adapter in GGML's older format, and no model. Adapters are not supported"sv},
    {"PK\x03\x04"sv, kPyTorch},  // a zip archive, as torch.save writes since version 1.6
    {"\x80\x02"sv, kPyTorch},    // a pickle, as older versions write
    {"version https://git-lfs"sv, "a pointer of Git LFS in place of the file. Fetch the file: git lfs pull"sv},
    {"<!DOCTYPE"sv, "a web page. Download the file itself, and not the page that shows it"sv},
    {"<!doctype"sv, "a web page. Download the file itself, and not the page that shows it"sv},
    {"<html"sv, "a web page. Download the file itself, and not the page that shows it"sv},
};

bool is_pytorch_name(const std::string& name) {
  return name == "pytorch_model.bin" || name == "pytorch_model.bin.index.json" || name.ends_with(".pth") ||
         name.ends_with(".pt");
}

}  // namespace

std::string foreign_file_advice(std::span<const std::byte> beginning) {
  const std::string_view bytes(reinterpret_cast<const char*>(beginning.data()), beginning.size());
  for (const ForeignFile& file : kForeignFiles) {
    if (bytes.starts_with(file.beginning)) return std::string(file.advice);
  }
  return "";
}

std::string pytorch_folder_advice(const std::filesystem::path& folder) {
  std::error_code error;
  auto entry = std::filesystem::directory_iterator(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name == "qmodel.pt") return fmt::format("{} holds {}", name, kPickledHqq);
    if (is_pytorch_name(name)) return fmt::format("{} holds {}", name, kPyTorch);
  }
  return "";
}

}  // namespace realizar
