#include "cli/show.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "base/amounts.h"
#include "base/printable.h"
#include "base/try.h"
#include "cli/command.h"
#include "cli/model_report.h"
#include "cli/output.h"
#include "cli/store_flags.h"
#include "formats/model_file.h"
#include "hub/locate.h"

namespace realizar::cli {
namespace {

constexpr std::pair<std::string_view, ModelPart> kParts[] = {{"info", ModelPart::kInfo},
                                                             {"template", ModelPart::kTemplate},
                                                             {"parameters", ModelPart::kParameters},
                                                             {"system", ModelPart::kSystem},
                                                             {"license", ModelPart::kLicense}};

std::string fact(const char* what, const std::string& value) {
  return value.empty() ? "" : fmt::format("{:<14} {}\n", what, printable(value));
}

// The template that renders prompts: the one stored with the file, or the file's own.
Result<std::string> template_of(const hub::ModelTexts& texts, const ModelFile& file) {
  if (!texts.chat_template.empty()) return texts.chat_template;
  RZ_TRY(const auto own, file.metadata().get_string("tokenizer.chat_template"));
  return own.value_or("");
}

std::string origin_text(const hub::LocalModel& model, const hub::ModelTexts& texts) {
  if (model.place == hub::Place::kFile) return "";
  const std::string source = model.place == hub::Place::kBundled ? "part of the program" : model.source;
  std::string text = fact("name", hub::to_string(model.name)) + fact("source", source) +
                     fact("revision", model.revision) + fact("pulled", model.pulled) +
                     fact("size", bytes_text(model.n_bytes)) + fact("path", model.path.string()) +
                     fact("parameters", texts.params) + fact("system", texts.system);
  for (const auto& adapter : model.adapters) text += fact("adapter", adapter.string());
  if (model.has_projector) text += fact("projector", "there is one for images, which is not used");
  return text + "\n";
}

struct ShowArgs {
  std::string name;
  bool chat_template = false, parameters = false, system = false, license = false;
  StoreFlags store;
};

ModelPart part_of(const ShowArgs& args) {
  if (args.parameters) return ModelPart::kParameters;
  if (args.system) return ModelPart::kSystem;
  if (args.license) return ModelPart::kLicense;
  return args.chat_template ? ModelPart::kTemplate : ModelPart::kInfo;
}

Result<int> show(const ShowArgs& args) {
  RZ_TRY(const std::string text, model_text(args.store.library(), args.name, part_of(args)));
  return print_model_text(text) ? kOk : kFailure;
}

}  // namespace

std::optional<ModelPart> model_part(std::string_view word) {
  const auto* found = std::ranges::find(kParts, word, &std::pair<std::string_view, ModelPart>::first);
  return found == std::end(kParts) ? std::nullopt : std::optional(found->second);
}

Result<std::string> model_text(const hub::Library& library, const std::string& name, ModelPart part) {
  RZ_TRY(const hub::LocalModel model, hub::locate(library, name));
  RZ_TRY(const hub::ModelTexts texts, hub::read_texts(model));
  if (part == ModelPart::kParameters) return texts.params + "\n";
  if (part == ModelPart::kSystem) return texts.system + "\n";
  if (part == ModelPart::kLicense && !texts.license.empty()) return texts.license + "\n";
  RZ_TRY(const ModelFile file, ModelFile::open(model.path));
  if (part == ModelPart::kTemplate) {
    RZ_TRY(const std::string source, file.checked(template_of(texts, file)));
    return source + "\n";
  }
  const ModelReport report = report_on(file);
  RZ_CHECK_OK(file.check());
  return part == ModelPart::kLicense ? report.licence + "\n" : origin_text(model, texts) + report_text(report);
}

void add_show(CommandLine& line) {
  auto args = std::make_shared<ShowArgs>();
  Flags flags =
      line.command("show", "Show the model of a name: its source, its path, and the output of inspect for its file");
  flags.option("model,-m,--model", args->name, "Name, as `realizar list` prints it, or a model's file",
               {.is_required = true, .takes = kFile});
  flags.flag("--template", args->chat_template, "Print only the chat template");
  flags.flag("--parameters", args->parameters, "Print only the model's recommended parameters");
  flags.flag("--system", args->system, "Print only its system message");
  flags.flag("--license", args->license, "Print only the licence");
  args->store.add_to(flags, StoreFlags::Network::kNone);
  flags.examples({"realizar show qwen3:1.7b", "realizar show ollama:llama3.2:1b --template"});
  flags.runs([args] { return show(*args); });
}

}  // namespace realizar::cli
