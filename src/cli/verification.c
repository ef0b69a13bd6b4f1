/* SPDX-License-Identifier: Apache-2.0
 * cli/verification.c - see verification.h. The model at level none and the optimized one run on the same inputs; values
 * that have the same name in both are to be equal. Rules to blame are found by leaving rules out. */
#include "verification.h"

#include <stdlib.h>
#include <string.h>

static ox_status *no_memory(void) { return ox_task_error(OX_OUT_OF_MEMORY, "out of memory"); }

/* ---- sessions ---- */

static void drop(cli_values *r) {
  for (size_t i = 0; i < r->n && r->out; i++) ox_value_release(r->out[i]);
  free(r->out);
  ox_session_release(r->session);
  *r = (cli_values){.session = NULL};
}

static ox_status *open_and_run(const cli_verification *v, const ox_session_opts *opts, cli_values *r) {
  char path[4096];
  const cli_inputs *in = &v->m->in;
  *r = (cli_values){.session = NULL};
  cli_model_path(v->m, path, sizeof path);
  ox_status *st = ox_session_create_file(v->env, path, opts, &r->session);
  if (st) return st;
  r->n = ox_session_output_count(r->session);
  r->out = calloc(r->n + 1, sizeof *r->out);
  if (!r->out) return no_memory();
  return ox_session_run(r->session, NULL, in->names, (const ox_value *const *)in->values, in->n, NULL, r->out, r->n);
}

/* As the user asked for the model, but for what is said or demanded of it only once. */
static ox_session_opts options(const cli_verification *v) {
  ox_session_opts o = v->m->opts;
  o.all_values = 1, o.dump_before = o.dump_after = NULL, o.n_require = 0;
  return o;
}

/* ---- the model's values ---- */

static const char *name_of(const cli_values *r, size_t i) {
  ox_value_info info;
  ox_status_free(ox_session_output(r->session, i, &info));
  return info.name;
}

static int compare_nodes(const void *a, const void *b) {
  const cli_output *x = a, *y = b;
  return x->node != y->node ? (x->node > y->node) - (x->node < y->node) : (x->at > y->at) - (x->at < y->at);
}

static int compare_names(const void *a, const void *b) {
  return strcmp(((const cli_output *)a)->name, ((const cli_output *)b)->name);
}

static ox_status *list_outputs(cli_verification *v) {
  size_t n = v->model.n;
  v->by_execution = calloc(n + 1, sizeof *v->by_execution), v->by_name = calloc(n + 1, sizeof *v->by_name);
  if (!v->by_execution || !v->by_name) return no_memory();
  for (size_t i = 0; i < n; i++)
    v->by_execution[i] = v->by_name[i] =
        (cli_output){name_of(&v->model, i), i, ox_session_output_node(v->model.session, i)};
  qsort(v->by_execution, n, sizeof *v->by_execution, compare_nodes);
  qsort(v->by_name, n, sizeof *v->by_name, compare_names);
  return NULL;
}

/* ---- one comparison ---- */

/* |at[i]|: the output of |r| that has the name of the model's output i; SIZE_MAX: none. */
static void match(const cli_verification *v, const cli_values *r, size_t *at) {
  for (size_t i = 0; i < v->model.n; i++) at[i] = SIZE_MAX;
  for (size_t i = 0; i < r->n; i++) {
    const cli_output key = {.name = name_of(r, i)};
    const cli_output *o = bsearch(&key, v->by_name, v->model.n, sizeof *v->by_name, compare_names);
    if (o) at[o->at] = i;
  }
}

static void compare(const cli_verification *v, const cli_values *r, const size_t *at, cli_finding *f) {
  f->agrees = true;
  for (size_t i = 0; i < v->model.n && f->agrees; i++) {
    size_t want = v->by_execution[i].at, got = at[want];
    if (got == SIZE_MAX) continue;
    if (ox_session_output_is_random(v->model.session, want) && ox_session_output_is_random(r->session, got)) {
      f->n_random++;
      continue;
    }
    f->n_compared++, f->wanted = want, f->got = got;
    f->agrees = cli_equal(ox_value_get(r->out[got]), ox_value_get(v->model.out[want]), v->tol, f->why, sizeof f->why);
  }
}

/* The optimized model without the rules |off|: what comes of it, and whether it agrees. */
static bool try_without(const cli_verification *v, const char *const *off, size_t n, cli_values *r, cli_finding *f) {
  ox_session_opts o = options(v);
  o.disabled_rules = off, o.n_disabled_rules = n;
  *f = (cli_finding){.agrees = false};
  ox_status *st = open_and_run(v, &o, r);
  size_t *at = st ? NULL : malloc((v->model.n + 1) * sizeof *at);
  if (!st && !at) st = no_memory();
  f->failed = st != NULL;
  if (st) snprintf(f->why, sizeof f->why, "%s", ox_status_message(st));
  if (at) match(v, r, at), compare(v, r, at, f);
  ox_status_free(st);
  free(at);
  return f->agrees;
}

/* ---- whose fault it is ---- */

/* Rules that are left out: those that the user does not want, then those that are tried. */
typedef struct {
  const cli_verification *v;
  const char *names[2 * CLI_MOST];
  size_t n_given, n;
  cli_progress bar;
  size_t n_tried;
} left_out;

/* What was applied in |s| joins; false if nothing was that had not. */
static bool add_applied(left_out *off, const ox_session *s) {
  const char *rule;
  uint64_t times;
  size_t before = off->n, i = 0;
  for (ox_session_applied(s, i, &rule, &times); rule; ox_session_applied(s, ++i, &rule, &times))
    if (off->n < 2 * CLI_MOST) off->names[off->n++] = rule;
  return off->n > before;
}

/* |more|: whether other rules came to work in place of those that are left out; they join. */
static bool agrees(left_out *off, bool *more) {
  cli_values r;
  cli_finding f;
  cli_progress_at(&off->bar, -1, off->n_tried++);
  bool yes = try_without(off->v, off->names, off->n, &r, &f);
  if (more) *more = !yes && r.session && add_applied(off, r.session);
  drop(&r);
  return yes;
}

/* Rule |i| comes back if it is not missed. */
static bool give_back(left_out *off, size_t i) {
  const char *rule = off->names[i];
  memmove(&off->names[i], &off->names[i + 1], (--off->n - i) * sizeof *off->names);
  if (agrees(off, NULL)) return true;
  memmove(&off->names[i + 1], &off->names[i], (off->n++ - i) * sizeof *off->names);
  off->names[i] = rule;
  return false;
}

/* Leaves out all that was applied, and what is applied then, until it agrees; then all come back that are not missed,
 * the earlier ones first, which later ones build upon. */
static void blame(cli_verification *v) {
  const cli_list *given = &v->m->args.no_rules;
  left_out off = {.v = v, .n = given->n, .n_given = given->n};
  for (size_t i = 0; i < given->n; i++) off.names[i] = given->items[i];
  cli_progress_start(&off.bar, "leaving out rules");
  bool yes = false, more = add_applied(&off, v->m->session);
  while (more && !yes) yes = agrees(&off, &more);
  for (size_t i = off.n_given; yes && i < off.n;)
    if (!give_back(&off, i)) i++;
  cli_progress_end(&off.bar);
  for (size_t i = off.n_given; yes && i < off.n; i++) v->rules[v->n_rules++] = off.names[i];
}

/* ---- the whole ---- */

ox_status *cli_verify(cli_model *m, const cli_tolerance *tol, cli_verification *v) {
  *v = (cli_verification){.m = m, .tol = tol};
  ox_status *st = cli_env_create(&m->args.providers, true, &v->env);
  ox_session_opts o = options(v);
  o.optimize = OX_OPTIMIZE_NONE;
  if (!st) st = open_and_run(v, &o, &v->model);
  if (!st) st = list_outputs(v);
  if (st) return st;
  if (!try_without(v, m->opts.disabled_rules, m->opts.n_disabled_rules, &v->optimized, &v->found)) blame(v);
  return NULL;
}

void cli_verification_release(cli_verification *v) {
  drop(&v->optimized);
  drop(&v->model);
  free(v->by_execution);
  free(v->by_name);
  ox_env_release(v->env);
}
