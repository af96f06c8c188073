#include "server/call/speller.h"

#include <nlohmann/json.hpp>

namespace realizar::server {

std::string system_fingerprint() {
  return "realizar-" + std::string(version());
}

std::string plain_stream_error(const ApiError& error) {
  return "data: " + error_json(error) + "\n\n";
}

std::string Speller::stream_error(const ApiError& error) {
  return plain_stream_error(error);
}

size_t Speller::put_copy(const std::vector<std::unique_ptr<Choice>>&, const Usage&, JsonPieces&) {
  return 0;
}

void Speller::keep_copy(std::string) {}

}  // namespace realizar::server
