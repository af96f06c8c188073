#include "hub/pull.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "base/amounts.h"
#include "base/try.h"
#include "hub/name_table.h"
#include "hub/ollama_manifest.h"
#include "hub/partial_file.h"

namespace realizar::hub {
namespace {

constexpr uint32_t kMaxFirstReconnects = 2;  // a user who has just typed a name does not want to wait

Result<RemoteModel> find_url_model(const ModelName& name, const DownloadSettings& settings,
                                   const std::atomic<bool>& cancelled) {
  RZ_TRY(const Url url, parse_url(name.url));
  const std::string path = url.rest.substr(0, url.rest.find('?'));
  const std::string file = path.substr(path.rfind('/') + 1);
  RemoteFile remote{file, url, {}, std::nullopt, {}};
  RZ_TRY(remote.n_bytes, remote_bytes(remote, settings, cancelled));
  return RemoteModel{"", "", {{std::move(remote), FileRole::kModel, file}}};
}

// Looks the name up in Ollama's registry.
Result<RemoteModel> find_ollama_model(const ModelName& name, const HubAccess& access) {
  const std::string what = to_string(name);
  std::string base = access.endpoint.text();
  while (base.ends_with('/')) base.pop_back();
  base += fmt::format("/v2/{}/{}", name.owner, name.model);
  RZ_TRY(HttpClient client, HttpClient::create(access.settings.http));
  RZ_TRY(const Url url, parse_url(fmt::format("{}/manifests/{}", base, name.tag)));
  HttpCall call{url};
  call.headers = {"Accept: application/vnd.docker.distribution.manifest.v2+json"};
  call.max_bytes = kMaxManifestBytes;
  call.cancelled = &access.cancelled;
  RZ_TRY(const HttpReply reply, send_patiently(client, call, what, access.settings));
  RZ_TRY(const std::vector<OllamaLayer> layers, parse_ollama_manifest(reply.body, url.shown()));
  const std::vector<std::string> names = ollama_file_names(layers, name);
  RemoteModel model;
  model.revision = "sha256:" + sha256_text(reply.body);
  for (size_t i = 0; i < layers.size(); ++i) {
    RZ_TRY(const Url blob, parse_url(fmt::format("{}/blobs/sha256:{}", base, layers[i].sha256)));
    RemoteFile remote{names[i], blob, {}, layers[i].n_bytes, {Digest::Kind::kSha256, layers[i].sha256}};
    model.files.push_back({std::move(remote), layers[i].role, names[i]});
  }
  return model;
}

// Checks the disk space for all missing files before the first byte is requested.
Status check_room(const RemoteModel& remote, const Store& store) {
  uint64_t n_missing = 0;
  for (const auto& file : remote.files) n_missing += missing_bytes(store, file.remote);
  const auto n_free = free_disk_bytes(store.root());
  if (!n_free || n_missing <= *n_free) return {};
  return Error{ErrorCode::kResourceExhausted,
               fmt::format("the disk of {} is too full: {} are wanted, {} are free", store.root().string(),
                           bytes_text(n_missing), bytes_text(*n_free)),
               "disk"};
}

PullStage stage_of(FileStage stage) {
  if (stage == FileStage::kWaiting) return PullStage::kWaiting;
  return stage == FileStage::kChecking ? PullStage::kChecking : PullStage::kDownloading;
}

std::string digest_of(const RemoteFile& file) {
  return file.digest.kind == Digest::Kind::kSha256 ? "sha256:" + file.digest.hex : "";
}

// `source`: not a URL.
Result<Url> endpoint_of(const ModelName& source, const HubSettings& settings) {
  return parse_url(source.kind == NameKind::kOllama ? settings.ollama : settings.hugging_face);
}

DownloadSettings first_settings(DownloadSettings settings) {
  settings.n_reconnects = std::min(settings.n_reconnects, kMaxFirstReconnects);
  return settings;
}

// `source`: not a URL.
Result<HubAccess> access_to(const ModelName& source, const HubSettings& settings, const std::atomic<bool>& cancelled) {
  RZ_TRY(const Url endpoint, endpoint_of(source, settings));
  const std::string token = source.kind == NameKind::kOllama ? "" : settings.token;
  RZ_CHECK_OK(check_encrypted(endpoint, token));
  return HubAccess{endpoint, token, first_settings(settings.download), cancelled};
}

Result<RemoteModel> find_remote(const ModelName& name, const HubSettings& settings,
                                const std::atomic<bool>& cancelled) {
  const ModelName source = source_of(name);
  if (settings.offline) {
    return invalid_argument(fmt::format("'{}' is not on this machine, and --offline asks no server", to_string(name)),
                            "offline");
  }
  if (source.kind == NameKind::kUrl) return find_url_model(source, first_settings(settings.download), cancelled);
  RZ_TRY(const HubAccess access, access_to(source, settings, cancelled));
  return source.kind == NameKind::kOllama ? find_ollama_model(source, access) : find_hf_model(source, access);
}

}  // namespace

Result<RemoteModel> look_up(const ModelName& name, const HubSettings& settings, const std::atomic<bool>& cancelled) {
  auto model = find_remote(name, settings, cancelled);
  if (!model.ok()) return with_hint(std::move(model).error());
  model->source = to_string(source_of(name));
  return model;
}

Result<ModelName> look_up_match(const ModelName& repository, const std::string& pattern, const HubSettings& settings,
                                const std::atomic<bool>& cancelled) {
  if (repository.kind != NameKind::kHuggingFace) {
    return invalid_argument(fmt::format("'{}' is not a Hugging Face repository, whose files could match '{}'",
                                        to_string(repository), pattern),
                            "file");
  }
  RZ_TRY(const HubAccess access, access_to(repository, settings, cancelled));
  const auto files = list_hf_files(repository, access);
  if (!files.ok()) return with_hint(files.error());
  ModelName name = repository;
  RZ_TRY(name.tag, matching_model(*files, pattern, to_string(repository)));
  return name;
}

Result<std::vector<RepoModel>> look_up_models(const ModelName& name, const HubSettings& settings,
                                              const std::atomic<bool>& cancelled) {
  ModelName source = source_of(name);
  std::vector<RepoModel> models;
  if (source.kind == NameKind::kHuggingFace && !settings.offline) {
    RZ_TRY(HubAccess access, access_to(source, settings, cancelled));
    access.answer_timeout = kAnswerTimeout;
    const auto files = list_hf_files(source, access);
    if (!files.ok()) return with_hint(files.error());
    for (GgufModel& model : gguf_models(*files)) {
      if (models.size() == kMaxRepoModels) break;
      source.tag = std::move(model.what);
      models.push_back({source, model.n_bytes, model.is_usual});
    }
  }
  if (!models.empty()) return models;
  RZ_TRY(const RemoteModel remote, look_up(name, settings, cancelled));
  models.push_back({name, total_bytes(remote), true});
  return models;
}

Result<std::string> server_of(const ModelName& name, const HubSettings& settings) {
  const ModelName source = source_of(name);
  RZ_TRY(const Url url, source.kind == NameKind::kUrl ? parse_url(source.url) : endpoint_of(source, settings));
  return url.origin();
}

uint64_t total_bytes(const RemoteModel& model) {
  uint64_t n = 0;
  for (const auto& file : model.files) n += file.remote.n_bytes.value_or(0);
  return n;
}

Result<StoredModel> pull(const ModelName& name, const RemoteModel& remote, const Store& store,
                         const HubSettings& settings, const OnPullProgress& on_progress,
                         const std::atomic<bool>& cancelled) {
  RZ_CHECK_OK(store.prepare());
  RZ_TRY(const StoreLock lock, store.lock_shared());
  RZ_CHECK_OK(check_room(remote, store));
  Manifest manifest{name, remote.source, remote.revision, "", {}};
  PullProgress progress{PullStage::kDownloading, "", "", 0, 0, 0, total_bytes(remote)};
  std::set<std::string> names;
  uint64_t n_before = 0;
  for (const auto& file : remote.files) {
    if (!names.insert(file.name).second) {
      return format_error(fmt::format("{}: two files are called '{}'", to_string(name), file.name), "model");
    }
    const auto tell = [&](const FileProgress& of_file) {
      progress.stage = stage_of(of_file.stage);
      progress.file = file.name;
      progress.digest = digest_of(file.remote);
      progress.file_done = of_file.n_done;
      progress.file_bytes = of_file.n_bytes;
      progress.total_done = n_before + of_file.n_done;
      on_progress(progress);
    };
    const auto blob = download(store, file.remote, settings.download, tell, cancelled);
    if (!blob.ok()) return with_hint(blob.error());
    tell({FileStage::kChecking, blob->n_bytes, blob->n_bytes});
    n_before += blob->n_bytes;
    manifest.files.push_back({file.role, file.name, blob->sha256, blob->n_bytes});
  }
  progress.stage = PullStage::kWriting;
  on_progress(progress);
  manifest.pulled = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}",
                                fmt::gmtime(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
  RZ_CHECK_OK(store.put(manifest));
  return store.find(name);
}

}  // namespace realizar::hub
