/* Answers one prompt with the C interface: generate_c MODEL PROMPT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "realizar/realizar.h"

#define MAX_TOKENS 4096

static int print(const char* text, size_t n_bytes, void* user) {
  return fwrite(text, 1, n_bytes, (FILE*)user) == n_bytes;
}

/* {"messages": [{"role": "user", "content": PROMPT}]}; the prompt's quotes and backslashes are escaped. */
static char* chat_json(const char* prompt) {
  const char *head = "{\"messages\": [{\"role\": \"user\", \"content\": \"", *tail = "\"}]}";
  char* json = malloc(strlen(head) + 2 * strlen(prompt) + strlen(tail) + 1);
  char* at = json;
  if (json == NULL) return NULL;
  at += sprintf(at, "%s", head);
  for (; *prompt != '\0'; ++prompt) {
    if (*prompt == '"' || *prompt == '\\') *at++ = '\\';
    *at++ = *prompt;
  }
  sprintf(at, "%s", tail);
  return json;
}

int main(int argc, char** argv) {
  static int32_t ids[MAX_TOKENS];
  rz_generate_options options;
  if (argc != 3) {
    fprintf(stderr, "usage: %s MODEL PROMPT\n", argv[0]);
    return 2;
  }
  rz_model* model = rz_load(argv[1], NULL);
  char* json = chat_json(argv[2]);
  const int64_t n_ids = model != NULL ? rz_apply_chat_template(model, json, ids, MAX_TOKENS) : -1;
  free(json);
  options.struct_size = sizeof options;
  int64_t n_generated = -1;
  if (n_ids >= 0 && n_ids <= MAX_TOKENS && rz_default_generate_options(model, &options) == 0) {
    options.temperature = 0;
    n_generated = rz_generate(model, ids, (size_t)n_ids, &options, print, stdout);
  }
  if (n_generated < 0) fprintf(stderr, "error: %s\n", rz_last_error());
  putchar('\n');
  rz_free(model);
  return n_generated < 0 ? 1 : 0;
}
