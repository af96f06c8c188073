#include "api/quantization_name.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

#include "base/printable.h"
#include "quant/types.h"

namespace realizar {
namespace {

// Values of llama.cpp's enum llama_ftype, with which general.file_type identifies a mixture of types.
constexpr std::pair<int, const char*> kFileTypes[] = {
    {0, "F32"},     {1, "F16"},     {2, "Q4_0"},     {3, "Q4_1"},    {7, "Q8_0"},    {8, "Q5_0"},    {9, "Q5_1"},
    {10, "Q2_K"},   {11, "Q3_K_S"}, {12, "Q3_K_M"},  {13, "Q3_K_L"}, {14, "Q4_K_S"}, {15, "Q4_K_M"}, {16, "Q5_K_S"},
    {17, "Q5_K_M"}, {18, "Q6_K"},   {19, "IQ2_XXS"}, {20, "IQ2_XS"}, {21, "Q2_K_S"}, {22, "IQ3_XS"}, {23, "IQ3_XXS"},
    {24, "IQ1_S"},  {25, "IQ4_NL"}, {26, "IQ3_S"},   {27, "IQ3_M"},  {28, "IQ2_S"},  {29, "IQ2_M"},  {30, "IQ4_XS"},
    {31, "IQ1_M"},  {32, "BF16"},   {36, "TQ1_0"},   {37, "TQ2_0"},  {38, "MXFP4"},  {39, "NVFP4"},  {40, "Q1_0"}};

}  // namespace

std::string quantization_name(const ModelFile& file) {
  const auto file_type = file.metadata().get_int("general.file_type");
  if (file_type.ok() && *file_type) {
    const auto* found = std::find_if(std::begin(kFileTypes), std::end(kFileTypes),
                                     [&](const auto& entry) { return entry.first == **file_type; });
    if (found != std::end(kFileTypes)) return found->second;
  }
  const auto method = file.metadata().get_string("quantization_config.quant_method");
  const std::string as = method.ok() && *method ? printable(**method) + " as " : "";
  std::map<std::string_view, uint64_t> bytes_of;
  for (const TensorInfo& tensor : file.tensors()) bytes_of[traits(tensor.type).name] += tensor.n_bytes();
  const auto most = std::max_element(bytes_of.begin(), bytes_of.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == bytes_of.end() ? "no weights" : as + std::string(most->first);
}

}  // namespace realizar
