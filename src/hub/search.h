// Searches models by words of their names: rows of the table of short names, and Hugging Face repositories with GGUF
// files.
#pragma once

#include <atomic>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hub/name.h"
#include "hub/pull.h"
#include "realizar/result.h"

namespace realizar::hub {

struct SearchHit {
  ModelName name;                                     // in the form that pull accepts
  std::optional<ModelName> stands_for;                // for a short name
  std::optional<uint64_t> n_parameters, n_downloads;  // if known
};

// Rows that contain every word, ignoring case, in their name or in its meaning. A name without a tag is left out if the
// same model is found with one.
std::vector<SearchHit> search_table(std::span<const std::string> words);

// Results from Hugging Face, or its mirror, the most downloaded first. Sends one request, and gives up after 20 s.
// Errors: those of the server.
Result<std::vector<SearchHit>> search_hub(std::span<const std::string> words, uint32_t n_most,
                                          const HubSettings& settings, const std::atomic<bool>& cancelled);

// The table's results, with the hub's data about their repositories, followed by the hub's other results.
std::vector<SearchHit> merged(std::vector<SearchHit> table, std::vector<SearchHit> hub);

struct Found {
  std::vector<SearchHit> hits;
  Status of_hub;  // why the hub's are not among them
};
// Both merged. The rows of the table are found without a server, too, and by themselves where `offline`.
Found search(std::span<const std::string> words, uint32_t n_most, const HubSettings& settings,
             const std::atomic<bool>& cancelled);

// {name, stands_for, parameters, downloads}; what is not known is left out.
nlohmann::ordered_json json_of(const SearchHit& hit);

}  // namespace realizar::hub
