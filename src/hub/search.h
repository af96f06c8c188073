// Models by words of their names: rows of the table of short names, and repositories of Hugging Face with GGUF files.
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
  ModelName name;                                     // as pull takes it
  std::optional<ModelName> stands_for;                // of a short name
  std::optional<uint64_t> n_parameters, n_downloads;  // where they are known
};

// Rows in whose name, or in what it stands for, every word stands, in any case. A name without a tag is left out where
// another of the same model has one.
std::vector<SearchHit> search_table(std::span<const std::string> words);

// The hits of Hugging Face, or its mirror, the most downloaded first. It is asked once, and given up after 20 s.
// Errors: those of the server.
Result<std::vector<SearchHit>> search_hub(std::span<const std::string> words, uint32_t n_most,
                                          const HubSettings& settings, const std::atomic<bool>& cancelled);

// The table's hits, with what the hub knows of their repositories, and after them the hub's other hits.
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
