// The MPI job in which the program was started, if any: its first process runs the command, and the others run the
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

// --mpi, for commands that load models.
enum class MpiChoice : uint8_t { kAuto, kAlways, kNever };
inline constexpr NamedValue<MpiChoice> kMpiChoiceNames[] = {
    {"auto", MpiChoice::kAuto}, {"always", MpiChoice::kAlways}, {"never", MpiChoice::kNever}};
constexpr const auto& option_names(MpiChoice) {
  return kMpiChoiceNames;
}

class RankJob {
 public:
  // Null if the program is not part of a job. Errors: NotFound if the MPI library is missing, with the package to
  // install.
  static Result<std::unique_ptr<RankJob>> join(MpiChoice choice);
  ~RankJob();

  bool is_follower() const { return exchange_->rank() > 0; }
  // The exit code of a rank other than the first, once it ends.
  int follow();
  // The exit code for a command that returned `code`: a job that lost a rank has failed.
  int finish(int code) const;

  // The processes with which this one, the first of its job, shares models; null: none.
  static Ranks* ranks();
  // Likewise for a server, which stops if a rank is lost.
  static Ranks* ranks_to_serve_with();
  // The program was asked to end: a rank that does not answer now is gone.
  static void note_stop();

 private:
  explicit RankJob(std::unique_ptr<ranks::MpiExchange> exchange);

  std::unique_ptr<ranks::MpiExchange> exchange_;
  Ranks ranks_;
};

}  // namespace realizar::cli
