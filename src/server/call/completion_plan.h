// A plan of the answers that a body asks for, and the Speller of their results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "realizar/request.h"
#include "server/call/context_shift.h"
#include "server/call/line_rules.h"
#include "server/call/speller.h"
#include "text/answer.h"

namespace realizar::server {

struct CompletionPlan {
  std::vector<Request> requests;  // one a choice
  size_t n_per_prompt = 0;        // neighbours that share a prompt; 0: all
  const char* prompt_field = "";  // which holds the prompts, where there may be several
  text::AnswerOptions choice;
  LineRules lines;
  ContextShift shift;
  int64_t n_keep = 0;  // of a context that is shifted
  std::unique_ptr<Speller> speller;
  bool stream = false;
  int64_t id_slot = -1;         // that the requests name; -1: none
  bool tells_progress = false;  // a stream's news have that of the prompts
  std::string logged_prompt;    // only where prompts are logged
  std::string background_id;    // of a response that is made whether or not its client waits; "": it is none
};

}  // namespace realizar::server
