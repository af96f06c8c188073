#include <memory>
#include <string>

#include "base/try.h"
#include "cli/command.h"
#include "cli/model_text.h"
#include "cli/output.h"
#include "cli/store_flags.h"

namespace realizar::cli {
namespace {

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

void add_show(CommandLine& line) {
  auto args = std::make_shared<ShowArgs>();
  Flags flags =
      line.command("show", "Show the model of a name: its source, its path, and the output of inspect for its file");
  flags.option("model,-m,--model", args->name, "Name, as `realizar list` prints it, or a model's file")
      .required()
      .file();
  flags.flag("--template", args->chat_template, "Print only the chat template");
  flags.flag("--parameters", args->parameters, "Print only the model's recommended parameters");
  flags.flag("--system", args->system, "Print only its system message");
  flags.flag("--license", args->license, "Print only the licence");
  args->store.add_to(flags, StoreFlags::Network::kNone);
  flags.examples({"realizar show qwen3:1.7b", "realizar show ollama:llama3.2:1b --template"});
  flags.runs([args] { return show(*args); });
}

}  // namespace realizar::cli
