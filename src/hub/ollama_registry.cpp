#include "hub/ollama_registry.h"

#include <fmt/format.h>

#include "base/try.h"
#include "hub/ollama_manifest.h"

namespace realizar::hub {

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

}  // namespace realizar::hub
