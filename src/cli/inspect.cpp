#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "api/rank_shares.h"
#include "backend/row_exchange.h"
#include "base/json_text.h"
#include "base/printable.h"
#include "base/try.h"
#include "cli/command.h"
#include "cli/model_report.h"
#include "cli/output.h"
#include "cli/store_flags.h"
#include "formats/model_file.h"
#include "model/model.h"
#include "realizar/options.h"

namespace realizar::cli {
namespace {

using Json = nlohmann::ordered_json;
using ranks::Shared;

const char* name_of(Shared shared) {
  constexpr const char* kNames[] = {"whole", "rows", "columns", "experts"};
  return kNames[static_cast<size_t>(shared)];
}

std::string shape_text(const SharedMatrices& m) {
  const std::string one = fmt::format("[{}, {}]", m.n_rows, m.n_cols);
  return m.n_mats == 1 ? one : fmt::format("{} x {}", m.n_mats, one);
}

std::vector<uint32_t> shares_of(const SharedMatrices& m, size_t n_ranks) {
  std::vector<uint32_t> shares;
  for (uint32_t rank = 0; rank < n_ranks; ++rank) {
    shares.push_back(m.sharing.sharing.of(rank, static_cast<uint32_t>(n_ranks)).n);
  }
  return shares;
}

std::string line_of(const SharedMatrices& m, size_t n_ranks) {
  std::string how = name_of(m.sharing.shared);
  if (m.sharing.shared != Shared::kNothing) how += fmt::format(": {}", fmt::join(shares_of(m, n_ranks), ", "));
  return fmt::format("{:<44} {:>4} x {:<22} {:<8} {}\n", printable(m.name), m.n, shape_text(m), traits(m.type).name,
                     how);
}

std::string rank_text(const RankShares& shares, Split split) {
  const size_t n_ranks = shares.weight_bytes.size();
  std::string text = fmt::format("\nshared by {} ranks with --split {}\n", n_ranks, option_name(split));
  for (size_t rank = 0; rank < n_ranks; ++rank) {
    const std::string layers = shares.layers.empty() ? ""
                                                     : fmt::format(", layers {} to {}", shares.layers[rank].first,
                                                                   shares.layers[rank].end - 1);
    text += fmt::format("rank {:<4} {:>10.1f} MB of weights{}\n", rank,
                        static_cast<double>(shares.weight_bytes[rank]) / 1e6, layers);
  }
  if (!shares.layers.empty()) return text;
  for (const SharedMatrices& m : shares.matrices) text += line_of(m, n_ranks);
  return text;
}

Json rank_json(const RankShares& shares, Split split) {
  const size_t n_ranks = shares.weight_bytes.size();
  Json json{{"split", option_name(split)}, {"weight_bytes", shares.weight_bytes}};
  for (const ranks::LayerRange& range : shares.layers) json["layers"].push_back({range.first, range.end});
  if (!shares.layers.empty()) return json;
  for (const SharedMatrices& m : shares.matrices) {
    Json row{{"name", m.name},
             {"type", traits(m.type).name},
             {"n", m.n},
             {"shape", {m.n_mats, m.n_rows, m.n_cols}},
             {"shared", name_of(m.sharing.shared)}};
    if (m.sharing.shared != Shared::kNothing) row["shares"] = shares_of(m, n_ranks);
    json["matrices"].push_back(std::move(row));
  }
  return json;
}

struct InspectArgs {
  std::string model;
  CacheType kv_type = CacheType::kF16;
  Split split = Split::kTensor;
  uint32_t n_ranks = 0;
  bool tensors = false, metadata = false, json = false;
  StoreFlags store;
};

std::map<std::string_view, int> tensors_by_type(const ModelFile& file) {
  std::map<std::string_view, int> counts;
  for (const TensorInfo& tensor : file.tensors()) ++counts[traits(tensor.type).name];
  return counts;
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

Json config_json(const ModelConfig& c) {
  const HeadSizes heads = heads_of(c);
  Json ropes = Json::array();
  for (const RopeConfig& rope : c.ropes) {
    ropes.push_back({{"base", rope.base}, {"n_dims", rope.n_rot}, {"scale", rope.scale}});
  }
  return {{"arch", c.arch},
          {"n_layers", n_file_layers(c)},
          {"d_model", c.d_model},
          {"n_heads", heads.n_heads},
          {"n_kv_heads", heads.n_kv_heads},
          {"head_dim", heads.key_dim},
          {"d_ff", c.d_ff},
          {"n_vocab", c.n_vocab},
          {"n_ctx_train", c.n_ctx_train},
          {"norm_eps", c.norm_eps},
          {"tie_word_embeddings", c.is_head_tied},
          {"ropes", ropes}};
}

Json contexts_json(const ModelReport& report) {
  Json list = Json::array();
  for (const ContextMemory& context : report.contexts) {
    list.push_back({{"n_ctx", context.n_ctx},
                    {"kv_bytes", context.kv_bytes},
                    {"total_bytes", report.weight_bytes + context.kv_bytes}});
  }
  return list;
}

Json ends_json(const ModelReport& report) {
  Json list = Json::array();
  for (const ReportedEnd& end : report.ends) {
    list.push_back({{"id", end.id}, {"token", end.piece}, {"from", end.sources}});
  }
  return list;
}

Json file_json(const ModelFile& file, const ModelReport& report, CacheType kv_type, bool with_tensors) {
  Json json{{"path", file.path().string()},
            {"name", report.name},
            {"runs_here", report.refusal.empty()},
            {"format", report.format},
            {"quantization", report.quantization},
            {"bits_per_weight", report.bits_per_weight()},
            {"file_bytes", report.file_bytes},
            {"n_tensors", file.tensors().size()},
            {"n_params", report.n_params},
            {"weight_bytes", report.weight_bytes},
            {"available_bytes", report.available_bytes},
            {"chat_template", report.has_template},
            {"tools", !report.tool_format.empty()},
            {"reasoning", report.has_reasoning},
            {"ends", ends_json(report)}};
  if (!report.tool_format.empty()) json["tool_format"] = report.tool_format;
  for (const auto& [name, value] : report.template_traits) json["template_traits"][name] = value;
  if (!report.refusal.empty()) json["refusal"] = report.refusal;
  if (!report.licence.empty()) json["license"] = report.licence;
  if (!report.notes.empty()) json["notes"] = report.notes;
  for (const auto& [type, count] : tensors_by_type(file)) json["types"][std::string(type)] = count;
  if (report.config) {
    json["n_ctx_default"] = report.n_ctx;
    json["kv_type"] = option_name(kv_type);
    json["kv_bytes"] = report.kv_bytes;
    json["contexts"] = contexts_json(report);
    const GpuReport& gpu = report.gpu;
    json["gpu"] =
        gpu.refusal.empty() ? Json{{"n_gpus", gpu.n_gpus}, {"n_layers", gpu.n_layers}} : Json{{"refusal", gpu.refusal}};
    json["config"] = config_json(*report.config);
  }
  for (const auto& [key, value] : file.metadata().entries()) json["metadata"][key] = scalar_json(value);
  if (!with_tensors) return json;
  for (const TensorInfo& tensor : file.tensors()) {
    json["tensors"].push_back({{"name", tensor.name},
                               {"type", traits(tensor.type).name},
                               {"shape", tensor.shape},
                               {"bytes", tensor.n_bytes()}});
  }
  return json;
}

std::string metadata_text(const ModelFile& file, const ModelReport& report) {
  std::string text = "\nmetadata\n";
  for (const auto& [key, value] : file.metadata().entries()) {
    text += fmt::format("{} = {}\n", printable(key), to_string(value));
  }
  return report.config ? text + "\nmodel\n" + printable(to_string(*report.config), Lines::kMany) : text;
}

std::string tensors_text(const ModelFile& file) {
  std::vector<std::string> types;
  for (const auto& [type, count] : tensors_by_type(file)) types.push_back(fmt::format("{} x {}", count, type));
  std::string text = fmt::format("\ntensors: {}\n", fmt::join(types, ", "));
  for (const TensorInfo& tensor : file.tensors()) {
    text += fmt::format("{:<48} {:<8} {:<24} {:>12}\n", printable(tensor.name), traits(tensor.type).name,
                        fmt::format("[{}]", fmt::join(tensor.shape, ", ")), tensor.n_bytes());
  }
  return text;
}

// Nullopt if no ranks were requested.
Result<std::optional<RankShares>> shares_for(const ModelFile& file, const InspectArgs& args) {
  if (args.n_ranks == 0) return std::optional<RankShares>();
  RZ_TRY(const ModelConfig config, read_config(file));
  RZ_TRY(RankShares shares, find_rank_shares(file, config, args.split, args.n_ranks));
  return std::optional(std::move(shares));
}

Result<int> inspect(const InspectArgs& args) {
  RZ_TRY(const FoundModel found, args.store.find(args.model));
  RZ_TRY(const ModelFile file, ModelFile::open(found.path));
  const ModelReport report = report_on(file, static_cast<KvType>(args.kv_type));
  RZ_TRY(const std::optional<RankShares> shares, shares_for(file, args));
  std::string text;
  if (args.json) {
    Json json = file_json(file, report, args.kv_type, args.tensors);
    if (shares) json["ranks"] = rank_json(*shares, args.split);
    text = json_text(json, 2) + '\n';
  } else {
    text = report_text(report) + (args.metadata ? metadata_text(file, report) : "") +
           (args.tensors ? tensors_text(file) : "") + (shares ? rank_text(*shares, args.split) : "");
  }
  RZ_CHECK_OK(file.check());
  return print_model_text(text) ? kOk : kFailure;
}

}  // namespace

void add_inspect(CommandLine& line) {
  auto args = std::make_shared<InspectArgs>();
  Flags flags = line.command("inspect",
                             "Show whether a model runs here, how large it is and what it can do. Reads the headers of "
                             "its files and no weights");
  flags.option("model,-m,--model", args->model,
               "Model: a name, a .gguf file, a folder with one, a Hugging Face folder or a .safetensors file",
               {.is_required = true, .takes = kFile});
  flags.option("--kv-type", args->kv_type, "Element type of the KV cache whose memory is shown",
               {.shown_as = "TYPE", .has_default = true});
  flags.option("--ranks", args->n_ranks,
               "Show how N processes of an MPI job would share the model; what they load for it is read",
               {.range = {1, kMaxRanks}});
  flags.option("--split", args->split, "How these would share it: layer, tensor or expert",
               {.shown_as = "HOW", .has_default = true});
  flags.flag("--tensors", args->tensors, "List every tensor");
  flags.flag("--metadata", args->metadata, "List the metadata, and the dimensions of the model");
  flags.flag("--json", args->json, "Print JSON");
  args->store.add_to(flags, StoreFlags::Network::kNone);
  flags.examples({"realizar inspect model.gguf", "realizar inspect model.gguf --tensors --metadata"});
  flags.runs([args] { return inspect(*args); });
}

}  // namespace realizar::cli
