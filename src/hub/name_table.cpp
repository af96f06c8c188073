#include "hub/name_table.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"

namespace realizar::hub {
namespace {

// Repositories of the models' makers if they publish GGUF files, else of publishers well known among llama.cpp's users.
constexpr ShortName kShortNames[] = {
    {"qwen3", "latest", "hf:Qwen/Qwen3-8B-GGUF:Q4_K_M"},
    {"qwen3", "0.6b", "hf:Qwen/Qwen3-0.6B-GGUF:Q8_0"},
    {"qwen3", "1.7b", "hf:Qwen/Qwen3-1.7B-GGUF:Q8_0"},
    {"qwen3", "4b", "hf:Qwen/Qwen3-4B-GGUF:Q4_K_M"},
    {"qwen3", "8b", "hf:Qwen/Qwen3-8B-GGUF:Q4_K_M"},
    {"qwen3", "14b", "hf:Qwen/Qwen3-14B-GGUF:Q4_K_M"},
    {"qwen3", "30b-a3b", "hf:Qwen/Qwen3-30B-A3B-GGUF:Q4_K_M"},
    {"qwen3", "32b", "hf:Qwen/Qwen3-32B-GGUF:Q4_K_M"},
    {"qwen2.5", "latest", "hf:Qwen/Qwen2.5-7B-Instruct-GGUF:Q4_K_M"},
    {"qwen2.5", "0.5b", "hf:Qwen/Qwen2.5-0.5B-Instruct-GGUF:Q4_K_M"},
    {"qwen2.5", "1.5b", "hf:Qwen/Qwen2.5-1.5B-Instruct-GGUF:Q4_K_M"},
    {"qwen2.5", "3b", "hf:Qwen/Qwen2.5-3B-Instruct-GGUF:Q4_K_M"},
    {"qwen2.5", "7b", "hf:Qwen/Qwen2.5-7B-Instruct-GGUF:Q4_K_M"},
    {"qwen2.5-coder", "1.5b", "hf:Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF:Q4_K_M"},
    {"qwen2.5-coder", "7b", "hf:Qwen/Qwen2.5-Coder-7B-Instruct-GGUF:Q4_K_M"},
    {"llama3.1", "latest", "hf:bartowski/Meta-Llama-3.1-8B-Instruct-GGUF:Q4_K_M"},
    {"llama3.1", "8b", "hf:bartowski/Meta-Llama-3.1-8B-Instruct-GGUF:Q4_K_M"},
    {"llama3.2", "latest", "hf:bartowski/Llama-3.2-3B-Instruct-GGUF:Q4_K_M"},
    {"llama3.2", "1b", "hf:bartowski/Llama-3.2-1B-Instruct-GGUF:Q4_K_M"},
    {"llama3.2", "3b", "hf:bartowski/Llama-3.2-3B-Instruct-GGUF:Q4_K_M"},
    {"llama3.3", "latest", "hf:bartowski/Llama-3.3-70B-Instruct-GGUF:Q4_K_M"},
    {"llama3.3", "70b", "hf:bartowski/Llama-3.3-70B-Instruct-GGUF:Q4_K_M"},
    {"gemma3", "latest", "hf:ggml-org/gemma-3-4b-it-GGUF:Q4_K_M"},
    {"gemma3", "1b", "hf:ggml-org/gemma-3-1b-it-GGUF:Q4_K_M"},
    {"gemma3", "4b", "hf:ggml-org/gemma-3-4b-it-GGUF:Q4_K_M"},
    {"gemma3", "12b", "hf:ggml-org/gemma-3-12b-it-GGUF:Q4_K_M"},
    {"gemma3", "27b", "hf:ggml-org/gemma-3-27b-it-GGUF:Q4_K_M"},
    {"gpt-oss", "latest", "hf:ggml-org/gpt-oss-20b-GGUF:MXFP4"},
    {"gpt-oss", "20b", "hf:ggml-org/gpt-oss-20b-GGUF:MXFP4"},
    {"gpt-oss", "120b", "hf:ggml-org/gpt-oss-120b-GGUF:MXFP4"},
    {"mistral", "latest", "hf:bartowski/Mistral-7B-Instruct-v0.3-GGUF:Q4_K_M"},
    {"mistral", "7b", "hf:bartowski/Mistral-7B-Instruct-v0.3-GGUF:Q4_K_M"},
    {"mistral-nemo", "latest", "hf:bartowski/Mistral-Nemo-Instruct-2407-GGUF:Q4_K_M"},
    {"mistral-nemo", "12b", "hf:bartowski/Mistral-Nemo-Instruct-2407-GGUF:Q4_K_M"},
    {"phi4", "latest", "hf:bartowski/phi-4-GGUF:Q4_K_M"},
    {"phi4", "14b", "hf:bartowski/phi-4-GGUF:Q4_K_M"},
    {"smollm2", "latest", "hf:HuggingFaceTB/SmolLM2-1.7B-Instruct-GGUF:Q4_K_M"},
    {"smollm2", "1.7b", "hf:HuggingFaceTB/SmolLM2-1.7B-Instruct-GGUF:Q4_K_M"},
    {"deepseek-r1", "1.5b", "hf:bartowski/DeepSeek-R1-Distill-Qwen-1.5B-GGUF:Q4_K_M"},
    {"deepseek-r1", "7b", "hf:bartowski/DeepSeek-R1-Distill-Qwen-7B-GGUF:Q4_K_M"},
    {"deepseek-r1", "14b", "hf:bartowski/DeepSeek-R1-Distill-Qwen-14B-GGUF:Q4_K_M"},
    {"deepseek-r1", "32b", "hf:bartowski/DeepSeek-R1-Distill-Qwen-32B-GGUF:Q4_K_M"},
    {"nomic-embed-text", "latest", "hf:nomic-ai/nomic-embed-text-v1.5-GGUF:Q8_0"},
};

ModelName ollamas_own(ModelName name) {
  name.kind = NameKind::kOllama;
  if (name.owner.empty()) name.owner = "library";
  return name;
}

}  // namespace

std::span<const ShortName> short_names() {
  return kShortNames;
}

std::vector<ModelName> short_names_of(const ModelName& name) {
  std::vector<ModelName> names;
  if (name.kind != NameKind::kLocal || !name.owner.empty()) return names;
  for (const ShortName& row : kShortNames) {
    if (row.model == name.model) names.push_back({NameKind::kLocal, "", name.model, "", std::string(row.tag), ""});
  }
  return names;
}

ModelName source_of(const ModelName& name) {
  if (name.kind != NameKind::kLocal) return name;
  const auto* found = std::ranges::find_if(kShortNames, [&](const ShortName& row) {
    return name.owner.empty() && row.model == name.model && row.tag == name.tag;
  });
  if (found != std::end(kShortNames)) {
    auto stands_for = parse_name(found->stands_for);
    REQUIRE(stands_for.ok());
    return *stands_for;
  }
  return ollamas_own(name);
}

std::vector<ModelName> meanings(const ModelName& name) {
  std::vector<ModelName> names{name};
  if (name.kind != NameKind::kLocal) return names;
  names.push_back(source_of(name));
  if (names.back().kind != NameKind::kOllama) names.push_back(ollamas_own(name));
  if (!name.owner.empty()) {
    names.push_back({NameKind::kHuggingFace, name.owner, name.model, "main", name.tag == "latest" ? "" : name.tag, ""});
  }
  return names;
}

}  // namespace realizar::hub
