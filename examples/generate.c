/* Answers one prompt with the C interface: generate_c MODEL PROMPT */
#include <stdio.h>
#include <stdlib.h>

#include "realizar/realizar.h"

static int print(const char* text, size_t n_bytes, void* user) {
  return fwrite(text, 1, n_bytes, (FILE*)user) == n_bytes;
}

/* Gives the number of tokens; negative on failure. */
static int64_t answer(rz_model* model, const char* prompt) {
  const rz_message message = {"user", prompt};
  rz_generate_options options;
  options.struct_size = sizeof options;
  if (rz_default_generate_options(model, &options) != 0) return -1;
  options.temperature = 0;
  const int64_t n_ids = rz_chat_prompt(model, &message, 1, NULL, 0);
  if (n_ids < 0) return -1;
  int32_t* ids = malloc((size_t)n_ids * sizeof *ids);
  if (ids == NULL) return -1;
  rz_chat_prompt(model, &message, 1, ids, (size_t)n_ids);
  const int64_t n_generated = rz_generate(model, ids, (size_t)n_ids, &options, print, stdout);
  free(ids);
  return n_generated;
}

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: %s MODEL PROMPT\n", argv[0]);
    return 2;
  }
  rz_model* model = rz_load(argv[1], NULL);
  const int64_t n_generated = model != NULL ? answer(model, argv[2]) : -1;
  if (n_generated < 0) fprintf(stderr, "error: %s\n", rz_last_error());
  putchar('\n');
  rz_free(model);
  return n_generated < 0 ? 1 : 0;
}
