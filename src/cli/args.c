/* SPDX-License-Identifier: Apache-2.0
 * cli/args.c - command-line options from a table. "--name value" and "--name=value" are one. */
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static bool add(cli_list *list, const char *item) {
  if (list->n == CLI_MOST) {
    fprintf(stderr, "onyx: more than %d arguments of a kind\n", CLI_MOST);
    return false;
  }
  list->items[list->n++] = item;
  return true;
}

static const cli_option *find(const char *arg, const cli_option *options, size_t n, const char **out_value) {
  const char *eq = strchr(arg, '=');
  size_t len = eq ? (size_t)(eq - arg) : strlen(arg);
  *out_value = eq ? eq + 1 : NULL;
  for (size_t i = 0; i < n; i++)
    if (strlen(options[i].name) == len && strncmp(options[i].name, arg, len) == 0) return &options[i];
  return NULL;
}

bool cli_parse(int argc, char **argv, const cli_option *options, size_t n_options, cli_list *positional) {
  bool only_positional = false;
  for (int i = 1; i < argc; i++) {
    const char *value;
    if (only_positional || argv[i][0] != '-' || !argv[i][1]) {
      if (!add(positional, argv[i])) return false;
      continue;
    }
    if (strcmp(argv[i], "--") == 0) {
      only_positional = true;
      continue;
    }
    const cli_option *o = find(argv[i], options, n_options, &value);
    if (!o) {
      fprintf(stderr, "onyx %s: no such option: %s (see onyx %s --help)\n", argv[0], argv[i], argv[0]);
      return false;
    }
    if (o->flag) {
      *o->flag = true;
      continue;
    }
    if (!value && i + 1 < argc) value = argv[++i];
    if (!value) {
      fprintf(stderr, "onyx %s: %s wants a value\n", argv[0], o->name);
      return false;
    }
    if (o->value) *o->value = value;
    if (o->list && !add(o->list, value)) return false;
  }
  return true;
}

bool cli_parse_double(const char *name, const char *text, double *out) {
  char *end;
  if (!text) return true;
  *out = strtod(text, &end);
  if (*text && !*end && *out >= 0) return true;
  fprintf(stderr, "onyx: %s wants a number that is not negative, got '%s'\n", name, text);
  return false;
}

bool cli_parse_int(const char *name, const char *text, long long least, long long *out) {
  char *end;
  if (!text) return true;
  *out = strtoll(text, &end, 10);
  if (*text && !*end && *out >= least) return true;
  fprintf(stderr, "onyx: %s wants a whole number of at least %lld, got '%s'\n", name, least, text);
  return false;
}
