// Ollama's POST /api/create (https://docs.ollama.com/api): a model from uploaded files or from another model, with its
// own template, parameters and messages; and the blobs that clients upload for it. If clients may change the store,
// models from the store and from files are created there; otherwise a name for another model is kept in memory.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/printable.h"
#include "base/try.h"
#include "server/call/context.h"
#include "server/call/store_changes.h"
#include "server/dialects/ollama/ollama.h"
#include "server/http/body_coding.h"
#include "server/models/created_model.h"
#include "server/models/stored_messages.h"
#include "server/routes/ollama_models.h"
#include "server/routes/routes.h"
#include "text/ollama_template.h"

namespace realizar::server {
namespace {

// Refuses fields that would require work on weights.
Status refuse_unbuilt(const Json& body) {
  static constexpr std::pair<const char*, const char*> kUnbuilt[] = {
      {"adapters", "not built: a model is created without adapters"},
      {"quantize", "not built: realizar quantize writes a file in another type, which files can then name"},
      {"draft", "not built: --draft names a draft model when the server starts"}};
  for (const auto& [field, why] : kUnbuilt) {
    const Json value = body.value(field, Json());
    if (value.is_null() || is_empty_text(value) || (value.is_structured() && value.empty())) continue;
    return unsupported(fmt::format("{}: {}", field, why), field);
  }
  return {};
}

std::string license_text(const Json& license) {
  if (license.is_string()) return license.get<std::string>();
  std::string text;
  for (const Json& one : license.is_array() ? license : Json::array()) {
    if (one.is_string()) text += (text.empty() ? "" : "\n") + one.get<std::string>();
  }
  return text;
}

// Reads the body's own texts. Errors: InvalidArgument naming the field.
Status read_texts(Fields& body, CreateWish& wish) {
  wish.system = body.text("system");
  wish.chat_template = body.text("template");
  if (const Json* license = body.any("license")) wish.license = license_text(*license);
  if (const Json* parameters = body.object("parameters")) wish.parameters = dump(*parameters);
  if (const Json* messages = body.array("messages")) {
    RZ_TRY(const Json read, read_stored_messages(*messages));
    wish.messages = read.empty() ? "" : dump(read);
  }
  return body.status();
}

// {NAME: DIGEST}
Status read_files(Fields& body, CreateWish& wish) {
  constexpr size_t kMaxFiles = 1000;
  const Json* files = body.object("files");
  if (!body.status().ok()) return body.status();
  if (files == nullptr) return {};
  if (files->size() > kMaxFiles) return wrong("files", fmt::format("expected at most {}", kMaxFiles));
  for (const auto& [name, digest] : files->items()) {
    const auto sha256 = digest.is_string() ? sha256_of_digest(digest.get_ref<const std::string&>()) : std::nullopt;
    if (!sha256)
      return wrong("files", fmt::format("expected sha256:HEX for '{}', actual {}", shown(name), shown(dump(digest))));
    wish.files.push_back({name, *sha256});
  }
  return {};
}

// The requested model. Only one of the two members is used, depending on where it is created.
struct Creation {
  std::string name;
  bool is_stream = true;
  CreateWish wish;                  // for the store
  std::optional<NamedFile> parent;  // nullopt: created from files
  bool is_stored = false;
};

Result<Creation> read_creation(const Call& call, const Json& json) {
  Fields body(json);
  Creation creation;
  RZ_TRY(creation.name, required_name(json));
  RZ_CHECK_OK(refuse_unbuilt(json));
  creation.is_stream = body.boolean("stream").value_or(true);
  RZ_CHECK_OK(read_files(body, creation.wish));
  RZ_CHECK_OK(read_texts(body, creation.wish));
  const std::string from = body.text("from").value_or("");
  if (!body.status().ok()) return body.status().error();
  if (!creation.wish.files.empty()) {
    if (!from.empty()) return invalid_argument("from: cannot be given together with files", "from");
    creation.is_stored = true;
    return creation;
  }
  if (from.empty()) return invalid_argument("from: expected the name of a model, or files", "from");
  RZ_TRY(creation.parent, find_file_to_make_of(call, from, "from"));
  creation.wish.parent = creation.parent->store_name;
  const bool is_stores = creation.parent->store_name && creation.parent->made == nullptr;
  creation.is_stored = is_stores && may_change_store(call);
  return creation;
}

Result<ModelAlias> model_alias(const Creation& creation) {
  const NamedFile& parent = *creation.parent;
  const CreateWish& wish = creation.wish;
  ModelAlias model = parent.made == nullptr ? ModelAlias{} : *parent.made;
  model.name = creation.name;
  model.base = parent.id;
  model.parent = parent.name;
  model.modified = std::chrono::system_clock::now();
  model.system = wish.system.value_or(model.system);
  model.license = wish.license.value_or(model.license);
  if (wish.messages) model.messages = wish.messages->empty() ? "[]" : *wish.messages;
  if (wish.chat_template && !wish.chat_template->empty()) {
    model.template_source = *wish.chat_template;
    RZ_TRY(model.chat_template, text::compile_ollama_template(*wish.chat_template));
  }
  if (wish.parameters) {
    RZ_TRY(Json all, parse_json(model.parameters));
    RZ_TRY(const Json own, parse_json(*wish.parameters));
    all.update(own);
    model.parameters = dump(all);
  }
  return model;
}

Error wrong_digest(const Call& call) {
  return invalid_argument(
      fmt::format("invalid digest '{}': expected sha256: and 64 hexadecimal digits", shown(call.path_id)), "digest");
}

bool has_blob(const Call& call, const std::string& sha256) {
  return may_change_store(call) &&
         version_at(call.context.options.store->library.store().blob_path(sha256)).has_value();
}

}  // namespace

// HEAD checks whether the blob exists.
HttpResponse get_blob(const Call& call) {
  const auto sha256 = sha256_of_digest(call.path_id);
  if (!sha256) return ollama_error(to_api_error(wrong_digest(call)));
  if (has_blob(call, *sha256)) return {200, "", "", {}};
  return ollama_error({404, "blob " + shown(call.path_id) + " not found", "", ""});
}

// Called before its body is read, which may be larger than memory.
void take_blob(Call& call) {
  if (refuse_store_change(call)) return;
  const auto sha256 = sha256_of_digest(call.path_id);
  if (!sha256) return call.fail(wrong_digest(call));
  if (body_coding(call.request.header("content-encoding")) != BodyCoding::kIdentity) {
    return call.fail(ApiError{415, "a blob has no Content-Encoding", "", ""});
  }
  if (has_blob(call, *sha256)) return call.send({200, "", "", {}});
  const auto post_io = [&http = call.context.http](std::function<void()> task) { http.post(std::move(task)); };
  const uint64_t n_bytes = number_of<uint64_t>(call.request.header("content-length")).value_or(0);
  auto upload = BlobUpload::start(call.context.options.store->library.store(), *sha256, n_bytes,
                                  *call.context.client_models->uploads, call.tenant, post_io);
  if (!upload.ok()) return call.fail(upload.error());
  call.take_body_into(std::move(*upload));
}

// Called when the body is complete.
Task<Status> post_blob(Call& call) {
  const auto upload = std::static_pointer_cast<BlobUpload>(call.body_sink);
  upload->finish([&call] { call.signal_update(); });
  const AtEnd unheard([&] { upload->finish({}); });
  while (!upload->result()) {
    UpdateWait wait(call);
    RZ_CO_CHECK_OK(co_await wait);
    if (call.is_over()) co_return Status();
  }
  if (!upload->result()->ok()) co_return *upload->result();
  co_return call.finish({201, "", "", {}});
}

Task<Status> post_ollama_create(Call& call, const Json& body) {
  RZ_CO_TRY(Creation creation, read_creation(call, body));
  if (!creation.is_stored) {
    RZ_CO_CHECK_OK(check_name_is_free(call, creation.name));
    RZ_CO_TRY(ModelAlias model, model_alias(creation));
    RZ_CO_CHECK_OK(call.context.client_models->made.put(tenant_of(call.key), std::move(model)));
  } else {
    if (refuse_store_change(call)) co_return Status();
    RZ_CO_TRY(creation.wish.name, name_in_store(call, creation.name));
    OnWorker creating(call, WorkPool::kSmallBytes + 1,
                      [&, store = call.context.options.store]() -> Result<ModelSource> {
                        RZ_CHECK_OK(create_stored(store->library.store(), creation.wish));
                        return stored_source(*store, creation.wish.name);
                      });
    RZ_CO_TRY(ModelSource model, co_await creating);
    take_in_stored(call, std::move(model));
  }
  call.send(told_steps(creation.is_stream, {"using existing layer", "writing manifest"}));
  co_return Status();
}

}  // namespace realizar::server
