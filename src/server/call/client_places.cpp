#include "server/call/client_places.h"

#include <string_view>

namespace realizar::server {

Error at_client_place(Error error, const ClientPlaces& places) {
  const auto is_at = [&](const std::string& place) {
    if (!error.subject.starts_with(place)) return false;
    return error.subject.size() == place.size() ||
           std::string_view(".[#").find(error.subject[place.size()]) != std::string_view::npos;
  };
  for (const auto& [place, theirs] : places) {
    if (!is_at(place)) continue;
    if (error.message.starts_with(place)) error.message.replace(0, place.size(), theirs);
    error.subject.replace(0, place.size(), theirs);
    return error;
  }
  return error;
}

}  // namespace realizar::server
