/* SPDX-License-Identifier: Apache-2.0
 * cli/cli_model.c - opens the model that a command line names. */
#include "cli_model.h"

#include <stdlib.h>
#include <string.h>

/* "name=value" rows as the session's arrays want them. */
typedef struct {
  char names[CLI_MOST][64];
  const char *pointers[CLI_MOST];
  int64_t values[CLI_MOST];
  size_t n;
} fixed_dims;

static bool read_dims(const cli_list *list, fixed_dims *out) {
  for (size_t i = 0; i < list->n; i++) {
    const char *eq = strchr(list->items[i], '=');
    char *end = NULL;
    long long v = eq ? strtoll(eq + 1, &end, 10) : -1;
    if (!eq || v < 0 || *end || (size_t)(eq - list->items[i]) >= sizeof out->names[0]) {
      fprintf(stderr, "onyx: --dim wants NAME=N, got '%s'\n", list->items[i]);
      return false;
    }
    memcpy(out->names[out->n], list->items[i], (size_t)(eq - list->items[i]));
    out->names[out->n][eq - list->items[i]] = 0;
    out->pointers[out->n] = out->names[out->n], out->values[out->n++] = v;
  }
  return true;
}

int cli_model_open(cli_model *m, const char *command, bool fix_dims) {
  static fixed_dims dims;
  long long n_threads = 0, optimize = OX_OPTIMIZE_ALL;
  if (!cli_parse_int("--threads", m->threads, 0, &n_threads) || !cli_parse_int("--level", m->level, 0, &optimize) ||
      !cli_providers_parse(&m->providers, &m->specs) || !read_dims(&m->dims, &dims))
    return EXIT_USAGE;
  if (m->paths.n != 1) {
    fprintf(stderr, "onyx %s: wants one model (see onyx %s --help)\n", command, command);
    return EXIT_USAGE;
  }
  ox_session_opts opts;
  char path[4096];
  ox_session_opts_init(&opts);
  opts.n_threads = (uint32_t)n_threads, opts.optimize = (uint32_t)optimize;
  opts.providers = m->specs.specs, opts.n_providers = m->specs.n;
  if (fix_dims) opts.dim_names = dims.pointers, opts.dim_values = dims.values, opts.n_dims = dims.n;
  m->is_dir = cli_is_dir(m->paths.items[0]);
  snprintf(path, sizeof path, m->is_dir ? "%s/model.onnx" : "%s", m->paths.items[0]);
  ox_status *st = ox_env_create(NULL, &m->env);
  double start = cli_now_ms();
  if (!st) st = ox_session_create_file(m->env, path, &opts, &m->session);
  m->load_ms = cli_now_ms() - start;
  return st ? cli_fail(st) : EXIT_OK;
}

ox_status *cli_model_inputs(cli_model *m, cli_inputs *out) {
  return m->is_dir ? cli_inputs_from_dir(m->env, m->session, m->paths.items[0], out)
                   : cli_inputs_random(m->env, m->session, 0, &m->dims, out);
}

void cli_model_close(cli_model *m) {
  ox_session_release(m->session);
  ox_env_release(m->env);
}
