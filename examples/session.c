/* Answers several prompts together with the C interface: session_c MODEL PROMPT... */
#include <stdio.h>
#include <stdlib.h>

#include "realizar/realizar.h"

static void print(const char* text, size_t n_bytes, const rz_result* result, void* user) {
  (void)user;
  if (result->finish_reason == RZ_FINISH_ERROR) fputs("error: ", stdout);
  fwrite(text, 1, n_bytes, stdout);
  putchar('\n');
}

/* Gives the request's number; negative on failure. */
static int64_t submit(rz_session* session, const rz_model* model, const char* prompt) {
  const rz_message message = {"user", prompt};
  const rz_parameter greedy = {"temperature", 0};
  const int64_t n_ids = rz_chat_prompt(model, &message, 1, NULL, 0);
  if (n_ids < 0) return -1;
  int32_t* ids = malloc((size_t)n_ids * sizeof *ids);
  if (ids == NULL) return -1;
  rz_chat_prompt(model, &message, 1, ids, (size_t)n_ids);
  rz_request request = {0};
  request.struct_size = sizeof request;
  request.ids = ids;
  request.n_ids = (size_t)n_ids;
  request.parameters = &greedy;
  request.n_parameters = 1;
  const int64_t number = rz_session_submit(session, &request, NULL, print, NULL);
  free(ids);
  return number;
}

int main(int argc, char** argv) {
  if (argc < 3) {
    fprintf(stderr, "usage: %s MODEL PROMPT...\n", argv[0]);
    return 2;
  }
  rz_load_options options = {0};
  options.struct_size = sizeof options;
  options.max_seqs = 4;
  rz_model* model = rz_load(argv[1], &options);
  rz_session* session = model != NULL ? rz_session_open(model, 0) : NULL;
  int n_failed = session == NULL;
  for (int i = 2; session != NULL && i < argc; ++i) n_failed += submit(session, model, argv[i]) < 0;
  if (n_failed > 0) fprintf(stderr, "error: %s\n", rz_last_error());
  if (session != NULL) rz_session_wait(session);
  rz_session_free(session);
  rz_free(model);
  return n_failed > 0;
}
