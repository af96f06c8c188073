#include "server/models/model_card.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <type_traits>
#include <variant>

#include "api/generation_config.h"
#include "api/loaded_model.h"
#include "api/quantization_name.h"
#include "api/text_assets.h"
#include "base/try.h"
#include "formats/model_file.h"
#include "model/model.h"
#include "sampling/parameters.h"
#include "server/models/infill.h"
#include "text/chat_template.h"

namespace realizar::server {
namespace {

// The recommended parameters that differ from the defaults.
std::string recommended_parameters(const SamplingParams& recommended) {
  std::string lines;
  const SamplingParams plain;
  for (const SamplingParameter& parameter : kSamplingParameters) {
    if (!parameter.is_recommended()) continue;
    const auto text_of = [&](const SamplingParams& params) {
      return visit_parameter(parameter, params, [](auto value) { return fmt::format("{}", value); });
    };
    if (text_of(recommended) != text_of(plain)) lines += fmt::format("{} {}\n", parameter.name, text_of(recommended));
  }
  return lines;
}

std::vector<std::string> capabilities_of(const ModelConfig& config, const text::Tokenizer& tokenizer,
                                         const std::string& template_source) {
  if (!gives_text(config)) return {"embedding"};
  std::vector<std::string> capabilities{"completion"};
  const auto chat_template = text::ChatTemplate::parse(template_source);
  const text::OutputFormat format = chat_template.ok() ? chat_template->output_format() : text::OutputFormat{};
  if (format.calls && !format.is_general) capabilities.emplace_back("tools");
  if (infill_prompt(tokenizer, "", "")) capabilities.emplace_back("insert");
  if (text::marks_reasoning(format)) capabilities.emplace_back("thinking");
  return capabilities;
}

Json json_of(const MetaValue& value, bool verbose) {
  return std::visit(
      [&](const auto& one) -> Json {
        if constexpr (std::is_same_v<std::decay_t<decltype(one)>, MetaArray>) {
          return verbose ? std::visit([](const auto& list) { return Json(list); }, one) : Json();
        } else {
          return one;
        }
      },
      value);
}

}  // namespace

Result<ModelCard> read_model_card(const std::string& path) {
  RZ_TRY(const ModelFile file, ModelFile::open(path));
  RZ_TRY(const ModelConfig config, read_config(file));
  RZ_TRY(const text::Tokenizer tokenizer, load_tokenizer(file));
  RZ_TRY(const auto chat_template, load_chat_template(file, tokenizer));
  RZ_TRY(const GenerationConfig generation, read_generation_config(file, tokenizer));
  ModelCard card;
  card.arch = config.arch;
  card.quantization = quantization_name(file);
  card.is_gguf = file.format() == FileFormat::kGguf;
  card.n_bytes = file.file_bytes();
  for (const TensorInfo& tensor : file.tensors()) card.n_params += tensor.n_elems();
  card.n_ctx = config.n_ctx_train;
  card.d_model = config.d_model;
  if (chat_template) card.template_source = chat_template->source;
  const std::string source = chat_template ? chat_template->source_for(/*has_tools=*/true) : "";
  card.parameters = recommended_parameters(generation.sampling);
  card.capabilities = capabilities_of(config, tokenizer, source);
  if (const auto license = file.metadata().get_string("general.license"); license.ok()) {
    card.license = license->value_or("");
  }
  return card;
}

Result<Json> read_model_info(const std::string& path, const ModelCard& card, bool verbose) {
  RZ_TRY(const ModelFile file, ModelFile::open(path));
  Json info = Json::object();
  for (const auto& [key, value] : file.metadata().entries()) info[key] = json_of(value, verbose);
  info.emplace("general.architecture", card.arch);
  info.emplace("general.parameter_count", card.n_params);
  info.emplace(card.arch + ".context_length", card.n_ctx);
  info.emplace(card.arch + ".embedding_length", card.d_model);
  return info;
}

Result<Json> read_tensor_list(const std::string& path) {
  RZ_TRY(const ModelFile file, ModelFile::open(path));
  Json list = Json::array();
  for (const TensorInfo& tensor : file.tensors()) {
    list.push_back({{"name", tensor.name},
                    {"type", traits(tensor.type).name},
                    {"shape", std::vector<uint64_t>(tensor.shape.rbegin(), tensor.shape.rend())}});
  }
  return list;
}

std::string parameter_size(uint64_t n_params) {
  const auto n = static_cast<double>(n_params);
  if (n >= 1e9) return fmt::format("{:.1f}B", n / 1e9);
  if (n >= 1e6) return fmt::format("{:.2f}M", n / 1e6);
  return n >= 1e3 ? fmt::format("{:.0f}K", n / 1e3) : std::to_string(n_params);
}

ModelCardPtr ModelCards::of(const std::string& path) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = cards_.find(path); found != cards_.end()) return found->second;
  }
  auto card = read_model_card(path);
  if (!card.ok()) return std::make_shared<const ModelCard>();
  if (const auto needed = LoadedModel::needed_bytes(path, load_); needed.ok()) card->n_needed_bytes = *needed;
  auto kept = std::make_shared<const ModelCard>(std::move(*card));
  const std::lock_guard lock(mutex_);
  return cards_[path] = std::move(kept);
}

void ModelCards::forget(const std::string& path) {
  const std::lock_guard lock(mutex_);
  cards_.erase(path);
}

}  // namespace realizar::server
