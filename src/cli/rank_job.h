// The MPI job that the program was started in, if it was: its first process runs the command, and the others follow the
// models that it loads.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "api/ranks.h"
#include "backend/ranks/launcher.h"
#include "backend/ranks/mpi.h"
#include "cli/flags.h"

namespace realizar::cli {

// --mpi, of commands that load models.
enum class MpiChoice : uint8_t { kAuto, kAlways, kNever };
inline constexpr NamedValue<MpiChoice> kMpiChoiceNames[] = {
    {"auto", MpiChoice::kAuto}, {"always", MpiChoice::kAlways}, {"never", MpiChoice::kNever}};
constexpr const auto& option_names(MpiChoice) {
  return kMpiChoiceNames;
}

class RankJob {
 public:
  // Null where the program is alone. Errors: NotFound, where the MPI library is missing, with the package to install.
  static Result<std::unique_ptr<RankJob>> join(MpiChoice choice);
  ~RankJob();

  bool is_follower() const { return exchange_->rank() > 0; }
  // The exit code of another rank than the first, once that ends.
  int follow();
  // The exit code of a command that gave `code`: a job that lost a rank has failed.
  int finish(int code) const;

  // The processes that this one, the first of its job, shares models with; null: none.
  static Ranks* ranks();
  // The same for a server, which a lost rank stops.
  static Ranks* ranks_to_serve_with();
  // The program was asked to end: a rank that is silent now is gone.
  static void note_stop();

 private:
  explicit RankJob(std::unique_ptr<ranks::MpiExchange> exchange);

  std::unique_ptr<ranks::MpiExchange> exchange_;
  Ranks ranks_;
};

}  // namespace realizar::cli
