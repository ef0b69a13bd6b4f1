/* SPDX-License-Identifier: Apache-2.0
 * cli/cli_model.c - opens the model that a command line names. */
#include "cli_model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* "NAME=N" is cut in two where it stands. */
static bool read_dims(const cli_list *texts, cli_dims *out) {
  for (size_t i = 0; i < texts->n; i++) {
    char *text = texts->items[i], *eq = strrchr(text, '='), *end = NULL;
    errno = 0;
    long long v = eq ? strtoll(eq + 1, &end, 10) : -1;
    if (!eq || eq == text || v < 0 || end == eq + 1 || *end || errno) {
      fprintf(stderr, "onyx: --dim wants NAME=N, got '%s'\n", text);
      return false;
    }
    *eq = 0;
    out->names[out->n] = text, out->sizes[out->n++] = v;
  }
  return true;
}

static bool has_dim(const ox_session *s, const char *name) {
  ox_value_info info;
  for (size_t i = 0; i < ox_session_input_count(s); i++) {
    ox_status *st = ox_session_input(s, i, &info);
    for (int d = 0; !st && d < info.rank; d++)
      if (info.dim_names[d] && strcmp(info.dim_names[d], name) == 0) return true;
    ox_status_free(st);
  }
  return false;
}

static void warn_of_unknown_dims(const cli_model *m) {
  for (size_t i = 0; i < m->dims.n; i++)
    if (!has_dim(m->session, m->dims.names[i]))
      fprintf(stderr, "onyx: warning: --dim %s: no input has a dimension of that name\n", m->dims.names[i]);
}

static void put_dump(void *ctx, const char *title, const char *text) { fprintf(ctx, "# %s\n%s", title, text); }

bool cli_session_opts(cli_session_args *a, ox_session_opts *out) {
  if (!cli_providers_parse(&a->providers, "provider")) return false;
  ox_session_opts_init(out);
  out->n_threads = (uint32_t)a->threads, out->optimize = (uint32_t)a->level;
  out->providers = a->providers.specs, out->n_providers = a->providers.n;
  out->disabled_rules = (const char *const *)a->no_rules.items, out->n_disabled_rules = a->no_rules.n;
  out->require = (const char *const *)a->require.items, out->n_require = a->require.n;
  out->cache_dir = a->cache_dir, out->tune_cache = a->tune_cache, out->tune = a->tune;
  out->all_values = a->all_values;
  size_t mib = (size_t)a->max_memory;
  out->max_memory = (unsigned long long)a->max_memory > SIZE_MAX >> 20 ? SIZE_MAX : mib << 20;
  out->dump_before = a->dump_before, out->dump_after = a->dump_after;
  out->dump = put_dump, out->dump_ctx = stderr, out->dump_short = 1;
  return true;
}

static ox_status *make_room(cli_model *m) {
  m->n_out = ox_session_output_count(m->session);
  m->out = calloc(m->n_out + 1, sizeof *m->out);
  return m->out ? cli_inputs_init(m->session, &m->in) : ox_task_error(OX_OUT_OF_MEMORY, "out of memory");
}

void cli_model_path(const cli_model *m, char *out, size_t n) {
  snprintf(out, n, m->is_dir ? "%s/model.onnx" : "%s", m->path);
}

int cli_model_open(cli_model *m, const cli_operands *operands, bool fix_dims) {
  ox_session_opts *o = &m->opts;
  char path[4096];
  if (!cli_session_opts(&m->args, o) || !read_dims(&m->dim_texts, &m->dims)) return EXIT_USAGE;
  if (fix_dims) o->dim_names = m->dims.names, o->dim_values = m->dims.sizes, o->n_dims = m->dims.n;
  m->path = operands->items[0], m->is_dir = cli_is_dir(m->path);
  cli_model_path(m, path, sizeof path);
  ox_status *st = cli_env_create(&m->args.providers, false, &m->env);
  double start = cli_now_ms();
  if (!st) st = ox_session_create_file(m->env, path, o, &m->session);
  m->load_ms = cli_now_ms() - start;
  if (!st) st = make_room(m);
  if (!st && !fix_dims) warn_of_unknown_dims(m); /* fixed ones have no names left */
  return st ? cli_fail(st) : EXIT_OK;
}

ox_status *cli_model_fill(cli_model *m) {
  char set[4096];
  if (!m->is_dir) return cli_inputs_random(m->env, m->session, 0, &m->dims, &m->in);
  snprintf(set, sizeof set, "%s/test_data_set_0", m->path);
  return cli_inputs_from_set(m->env, m->session, set, &m->in);
}

ox_status *cli_model_workspace(const cli_model *m, int64_t *out_bytes) {
  ox_shape *shapes = calloc(m->in.n + 1, sizeof *shapes);
  ox_status *st = shapes ? NULL : ox_task_error(OX_OUT_OF_MEMORY, "out of memory");
  size_t bytes;
  bool all = true;
  for (size_t i = 0; i < m->in.n && shapes; i++) {
    const ox_tensor *t = ox_value_get(m->in.values[i]);
    shapes[i] = t->shape, all &= t->kind != OX_NONE_VALUE;
  }
  if (!st && all) st = ox_session_plan(m->session, shapes, m->in.n, &bytes);
  *out_bytes = !st && all ? (int64_t)bytes : -1;
  free(shapes);
  return st;
}

ox_status *cli_model_run(cli_model *m) {
  return ox_session_run(m->session, NULL, m->in.names, (const ox_value *const *)m->in.values, m->in.n, NULL, m->out,
                        m->n_out);
}

void cli_model_drop_outputs(cli_model *m) {
  for (size_t i = 0; i < m->n_out && m->out; i++) ox_value_release(m->out[i]), m->out[i] = NULL;
}

void cli_model_close(cli_model *m) {
  cli_model_drop_outputs(m);
  free(m->out);
  cli_inputs_release(&m->in);
  ox_session_release(m->session);
  ox_env_release(m->env);
}
