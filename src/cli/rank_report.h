// How ranks would share a model, as `realizar inspect --ranks` shows it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "api/rank_shares.h"

namespace realizar::cli {

std::string rank_text(const RankShares& shares, Split split);
nlohmann::ordered_json rank_json(const RankShares& shares, Split split);

}  // namespace realizar::cli
