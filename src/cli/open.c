/* SPDX-License-Identifier: Apache-2.0
 * cli/open.c - providers from the command line, failures to stderr. */
#include <string.h>

#include "cli.h"

int cli_fail(ox_status *st) {
  fprintf(stderr, "onyx: %s\n", ox_status_message(st));
  ox_status_free(st);
  return EXIT_FAILED;
}

bool cli_providers_parse(const cli_list *list, cli_providers *out) {
  out->n = 0;
  for (size_t i = 0; i < list->n; i++) {
    if (out->n == 8 || strlen(list->items[i]) >= sizeof out->text[0]) {
      fprintf(stderr, "onyx: too many or too long --provider options\n");
      return false;
    }
    char *text = strcpy(out->text[out->n], list->items[i]);
    ox_provider_spec *spec = &out->specs[out->n];
    *spec = (ox_provider_spec){text, {0, out->keys[out->n], out->values[out->n]}};
    char *at = strchr(text, ':');
    for (; at; at = strchr(at, ',')) {
      *at++ = 0;
      char *eq = strchr(at, '=');
      if (!eq || spec->options.n == 16) {
        fprintf(stderr, "onyx: --provider wants NAME[:key=value,...], got '%s'\n", list->items[i]);
        return false;
      }
      *eq = 0;
      out->keys[out->n][spec->options.n] = at;
      out->values[out->n][spec->options.n++] = eq + 1;
      at = eq + 1;
    }
    out->n++;
  }
  return true;
}
