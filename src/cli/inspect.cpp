#include <fmt/format.h>

#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/printable.h"
#include "cli/command.h"
#include "cli/output.h"
#include "formats/model_file.h"
#include "model/model.h"

namespace realizar::cli {
namespace {

struct InspectArgs {
  std::string model;
  bool tensors = false, json = false;
};

using Json = nlohmann::ordered_json;

std::string shape_text(const TensorInfo& tensor) {
  return fmt::format("[{}]", fmt::join(tensor.shape, ", "));
}

uint64_t n_params(const ModelFile& file) {
  uint64_t n = 0;
  for (const TensorInfo& tensor : file.tensors()) n += tensor.n_elems();
  return n;
}

std::map<std::string_view, int> tensors_by_type(const ModelFile& file) {
  std::map<std::string_view, int> counts;
  for (const TensorInfo& tensor : file.tensors()) ++counts[traits(tensor.type).name];
  return counts;
}

const char* format_name(const ModelFile& file) {
  return file.format() == FileFormat::kGguf ? "GGUF" : "Hugging Face SafeTensors";
}

Json scalar_json(const MetaValue& value) {
  return std::visit(
      [](const auto& v) -> Json {
        using T = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<T, MetaArray>) {
          const size_t n = std::visit([](const auto& array) { return array.size(); }, v);
          return Json{{"array_length", n}};
        } else if constexpr (std::is_same_v<T, double>) {
          return std::isfinite(v) ? Json(v) : Json(fmt::format("{}", v));
        } else {
          return Json(v);
        }
      },
      value);
}

Json file_json(const ModelFile& file, bool with_tensors) {
  Json json{{"path", file.path().string()},
            {"format", format_name(file)},
            {"file_bytes", file.file_bytes()},
            {"n_tensors", file.tensors().size()},
            {"n_params", n_params(file)}};
  for (const auto& [type, count] : tensors_by_type(file)) json["types"][std::string(type)] = count;
  const auto config = read_config(file);
  if (config.ok()) {
    json["config"] = {
        {"arch", config->arch},       {"n_layers", config->n_layers},     {"d_model", config->d_model},
        {"n_heads", config->n_heads}, {"n_kv_heads", config->n_kv_heads}, {"head_dim", config->head_dim},
        {"d_ff", config->d_ff},       {"n_vocab", config->n_vocab},       {"n_ctx_train", config->n_ctx_train}};
  } else {
    json["config_error"] = config.error().message;
  }
  for (const auto& [key, value] : file.metadata().entries()) json["metadata"][key] = scalar_json(value);
  if (!with_tensors) return json;
  for (const TensorInfo& tensor : file.tensors()) {
    json["tensors"].push_back({{"name", tensor.name},
                               {"type", traits(tensor.type).name},
                               {"shape", tensor.shape},
                               {"bytes", tensor.data.size()}});
  }
  return json;
}

std::string file_text(const ModelFile& file, bool with_tensors) {
  std::string types;
  for (const auto& [type, count] : tensors_by_type(file)) types += fmt::format(" {} x {}", count, type);
  std::string text =
      fmt::format("file        {}\nformat      {}\nsize        {:.1f} MB\nparameters  {:.2f} M\ntensors    {}\n",
                  printable(file.path().string()), format_name(file), static_cast<double>(file.file_bytes()) / 1e6,
                  static_cast<double>(n_params(file)) / 1e6, types);
  const auto config = read_config(file);
  text += config.ok() ? "\nmodel\n" + printable(to_string(*config), Lines::kMany)
                      : "\nnot runnable: " + printable(config.error().message) + "\n";
  text += "\nmetadata\n";
  for (const auto& [key, value] : file.metadata().entries()) {
    text += fmt::format("{} = {}\n", printable(key), to_string(value));
  }
  if (!with_tensors) return text;
  text += "\ntensors\n";
  for (const TensorInfo& tensor : file.tensors()) {
    text += fmt::format("{:<48} {:<8} {:<24} {:>12}\n", printable(tensor.name), traits(tensor.type).name,
                        shape_text(tensor), tensor.data.size());
  }
  return text;
}

int inspect(const InspectArgs& args) {
  auto file = ModelFile::open(args.model);
  if (!file.ok()) return fail(file.error());
  const std::string text =
      args.json ? file_json(*file, args.tensors).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + '\n'
                : file_text(*file, args.tensors);
  if (const Status status = file->check(); !status.ok()) return fail(status.error());
  return print_model_text(text) ? kOk : kFailure;
}

}  // namespace

void add_inspect(CommandLine& line) {
  auto args = std::make_shared<InspectArgs>();
  Flags flags = line.command("inspect", "Show what a model file holds; reads its headers only");
  flags.option("model", args->model, "Model: a .gguf file, a Hugging Face folder or a .safetensors file").required();
  flags.flag("--tensors", args->tensors, "List every tensor");
  flags.flag("--json", args->json, "Print JSON");
  flags.runs([args] { return inspect(*args); });
}

}  // namespace realizar::cli
