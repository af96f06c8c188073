// What samplers are called where a request names its own chain: the names and letters of llama.cpp's --samplers and
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

inline constexpr size_t kMaxSamplers = 32;  // of one chain

// {"top_k", "temp"}. Names that llama.cpp's clients send for samplers which are not here are left out. Errors:
// InvalidArgument for any other name, with those that there are.
Result<std::vector<SamplerKind>> samplers_of_names(const std::vector<std::string>& names);
// "kt", as from the names.
Result<std::vector<SamplerKind>> samplers_of_letters(std::string_view letters);
// What samplers_of_names() makes these of.
std::vector<std::string> names_of(std::span<const SamplerKind> samplers);
// "top_k;temperature", as --samplers has it.
Result<std::vector<SamplerKind>> samplers_of_list(std::string_view names);

}  // namespace realizar
