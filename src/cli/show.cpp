#include <fmt/format.h>

#include <memory>
#include <string>

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

struct ShowArgs {
  std::string name;
  bool chat_template = false, parameters = false, system = false, license = false;
  StoreFlags store;
};

std::string fact(const char* what, const std::string& value) {
  return value.empty() ? "" : fmt::format("{:<14} {}\n", what, printable(value));
}

// The template that renders prompts: the one beside the file, or the file's own.
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

Result<std::string> shown_text(const ShowArgs& args) {
  RZ_TRY(const hub::LocalModel model, hub::locate(args.store.library(), args.name));
  RZ_TRY(const hub::ModelTexts texts, hub::read_texts(model));
  if (args.parameters) return texts.params + "\n";
  if (args.system) return texts.system + "\n";
  if (args.license && !texts.license.empty()) return texts.license + "\n";
  RZ_TRY(const ModelFile file, ModelFile::open(model.path));
  if (args.chat_template) {
    RZ_TRY(const std::string source, file.checked(template_of(texts, file)));
    return source + "\n";
  }
  const ModelReport report = report_on(file);
  RZ_CHECK_OK(file.check());
  return args.license ? report.licence + "\n" : origin_text(model, texts) + report_text(report);
}

Result<int> show(const ShowArgs& args) {
  RZ_TRY(const std::string text, shown_text(args));
  return print_model_text(text) ? kOk : kFailure;
}

}  // namespace

void add_show(CommandLine& line) {
  auto args = std::make_shared<ShowArgs>();
  Flags flags = line.command("show",
                             "Show what a name stands for: where the model came from, where it lies, and what inspect "
                             "tells of its file");
  flags.option("model,-m,--model", args->name, "Name, as `realizar list` prints it, or a model's file")
      .required()
      .file();
  flags.flag("--template", args->chat_template, "Print the chat template alone");
  flags.flag("--parameters", args->parameters, "Print the parameters that come with the model alone");
  flags.flag("--system", args->system, "Print the system message that comes with it alone");
  flags.flag("--license", args->license, "Print the licence alone");
  args->store.add_to(flags, StoreFlags::Network::kNone);
  flags.examples({"realizar show qwen3:1.7b", "realizar show ollama:llama3.2:1b --template"});
  flags.runs([args] { return show(*args); });
}

}  // namespace realizar::cli
