// Names of samplers in requests that set their own chain: the names and letters of llama.cpp's --samplers and
// --sampler-seq.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "realizar/request.h"
#include "realizar/result.h"

namespace realizar {

inline constexpr size_t kMaxSamplers = 32;  // in one chain

// {"top_k", "temp"}. Names that llama.cpp's clients send for samplers not implemented here are skipped. Errors:
// InvalidArgument for any other name, with the list of known ones.
Result<std::vector<SamplerKind>> samplers_of_names(const std::vector<std::string>& names);
// "kt"; otherwise like samplers_of_names().
Result<std::vector<SamplerKind>> samplers_of_letters(std::string_view letters);
// The inverse of samplers_of_names().
std::vector<std::string> names_of(std::span<const SamplerKind> samplers);
// "top_k;temperature", the form of --samplers.
Result<std::vector<SamplerKind>> samplers_of_list(std::string_view names);

}  // namespace realizar
