/* SPDX-License-Identifier: Apache-2.0
 * cli/bench_compare.c - see bench_compare.h. Sessions take turns of some 50 ms, so that what else the machine does, and
 * how warm it is, is the same for all; the first run of a turn finds the caches of another and is not counted. */
#include "bench_compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TURN_MS = 50 };

/* One provider. */
typedef struct contender {
  char label[128];
  ox_session *session; /* NULL: it cannot be used */
  char why[512];
  ox_value **out; /* of the first run */
  double *times;
  size_t n_times, capacity;
  double median, least, difference; /* difference below 0: not comparable */
  size_t nodes, taken;
  double time_share;
} contender;

typedef struct contest {
  cli_model *m;
  contender *rows;
  size_t n;
} contest;

/* ---- runs ---- */

static void drop(ox_value **out, size_t n) {
  for (size_t i = 0; i < n; i++) ox_value_release(out[i]), out[i] = NULL;
}

static ox_status *run_once(const contest *t, const contender *c, ox_value **out, double *ms) {
  const cli_model *m = t->m;
  double start = cli_now_ms();
  ox_status *st = ox_session_run(c->session, NULL, m->in.names, (const ox_value *const *)m->in.values, m->in.n, NULL,
                                 out, m->n_out);
  *ms = cli_now_ms() - start;
  return st;
}

static bool keep(contender *c, double ms) {
  if (c->n_times == c->capacity) {
    size_t capacity = c->capacity ? c->capacity * 2 : 1024;
    double *grown = realloc(c->times, capacity * sizeof *grown);
    if (!grown) return false;
    c->times = grown, c->capacity = capacity;
  }
  c->times[c->n_times++] = ms;
  return true;
}

static ox_status *turn(const contest *t, contender *c, ox_value **out) {
  double ms, end = cli_now_ms() + TURN_MS;
  bool kept = true;
  ox_status *st = run_once(t, c, out, &ms);
  drop(out, t->m->n_out);
  do {
    if (!st) st = run_once(t, c, out, &ms);
    drop(out, t->m->n_out);
    if (!st) kept = keep(c, ms);
  } while (!st && kept && cli_now_ms() < end);
  return st;
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* ---- what came out ---- */

/* The largest difference as a part of the largest magnitude; below 0: they cannot be compared. */
static double difference(const ox_tensor *got, const ox_tensor *want) {
  int64_t worst = cli_worst(got, want), n = ox_tensor_count(want);
  double largest = 0;
  if (worst < 0) return ox_tensor_count(want) == 0 ? 0 : -1;
  for (int64_t i = 0; i < n; i++) {
    double w = fabs(ox_tensor_element(want, i));
    if (isfinite(w) && w > largest) largest = w;
  }
  double a = ox_tensor_element(got, worst), b = ox_tensor_element(want, worst);
  double off = a == b || (isnan(a) && isnan(b)) ? 0 : fabs(a - b);
  return isnan(off) ? INFINITY : off == 0 || largest == 0 ? off : off / largest;
}

static void compare_outputs(const contest *t, contender *c) {
  const contender *first = t->rows;
  while (!first->session) first++;
  for (size_t i = 0; i < t->m->n_out; i++) {
    double d = difference(ox_value_get(c->out[i]), ox_value_get(first->out[i]));
    if (d < 0 || c->difference < 0)
      c->difference = -1;
    else if (d > c->difference)
      c->difference = d;
  }
}

/* Of "auto" it is the provider that was chosen. */
static bool is_it(const char *provider, const char *owner) {
  bool cpu = strcmp(owner, "cpu") == 0 || strcmp(owner, "host") == 0;
  return strcmp(provider, "auto") == 0 ? !cpu : strcmp(owner, provider) == 0;
}

/* How many nodes the provider has, and which part of a run's time it takes. */
static ox_status *count_shares(const contest *t, contender *c, const char *provider, ox_value **out) {
  ox_placement p;
  ox_provider_info info;
  ox_node_time e;
  double ms, mine = 0, all = 0;
  if (ox_provider_find(provider, &info)) provider = info.name;
  for (size_t i = 0; ox_session_placement(c->session, i, &p); i++) {
    if (strcmp(p.how, "copy") == 0 || strcmp(p.how, "view") == 0) continue;
    c->nodes++, c->taken += is_it(provider, p.owner);
  }
  ox_session_profile_start(c->session);
  ox_status *st = run_once(t, c, out, &ms);
  drop(out, t->m->n_out);
  ox_session_profile_stop(c->session);
  for (size_t i = 0; ox_session_profile_event(c->session, i, &e); i++)
    all += e.duration_us, mine += is_it(provider, e.provider) ? e.duration_us : 0;
  c->time_share = all > 0 ? mine / all : 0;
  return st;
}

/* ---- the whole ---- */

static void set_label(contender *c, const ox_provider_spec *spec) {
  size_t at = (size_t)snprintf(c->label, sizeof c->label, "%s", spec->name);
  for (uint32_t i = 0; i < spec->options.n && at < sizeof c->label; i++)
    at += (size_t)snprintf(c->label + at, sizeof c->label - at, "%s%s=%s", i ? "," : ":", spec->options.keys[i],
                           spec->options.values[i]);
}

/* A provider that cannot be used is a line of the table. */
static void give_up(contender *c, ox_status *st) {
  snprintf(c->why, sizeof c->why, "%s", ox_status_message(st));
  ox_status_free(st);
  ox_session_release(c->session);
  c->session = NULL;
}

static void open_one(contest *t, contender *c, const ox_provider_spec *spec, const char *path) {
  ox_session_opts o = t->m->opts;
  double ms;
  o.providers = spec, o.n_providers = 1;
  set_label(c, spec);
  c->out = calloc(t->m->n_out + 1, sizeof *c->out);
  ox_status *st =
      c->out ? ox_env_check_provider(t->m->env, spec->name) : ox_task_error(OX_OUT_OF_MEMORY, "out of memory");
  if (!st) st = ox_session_create_file(t->m->env, path, &o, &c->session);
  if (!st) st = run_once(t, c, c->out, &ms);
  if (st) give_up(c, st);
}

static ox_status *measure(contest *t, const cli_providers *p, double seconds) {
  ox_value **out = calloc(t->m->n_out + 1, sizeof *out);
  if (!out) return ox_task_error(OX_OUT_OF_MEMORY, "out of memory");
  size_t rounds = (size_t)(seconds * 1e3 / TURN_MS) + 1;
  cli_progress bar;
  cli_progress_start(&bar, "measuring");
  ox_status *st = NULL;
  for (size_t r = 0; r < rounds && !st; r++) {
    for (size_t i = 0; i < t->n && !st; i++)
      if (t->rows[i].session) st = turn(t, &t->rows[i], out);
    cli_progress_at(&bar, (double)(r + 1) / (double)rounds, r);
  }
  cli_progress_end(&bar);
  for (size_t i = 0; i < t->n && !st; i++) {
    contender *c = &t->rows[i];
    if (!c->session) continue;
    st = count_shares(t, c, p->specs[i].name, out);
    qsort(c->times, c->n_times, sizeof *c->times, by_size);
    c->median = c->n_times ? c->times[c->n_times / 2] : 0, c->least = c->n_times ? c->times[0] : 0;
    compare_outputs(t, c);
  }
  free(out);
  return st;
}

/* ---- printing ---- */

static double first_median(const contest *t) {
  for (size_t i = 0; i < t->n; i++)
    if (t->rows[i].session) return t->rows[i].median;
  return 0;
}

static void print_text(const contest *t) {
  printf("%-24s %10s %8s %7s %7s %11s\n", "provider", "median ms", "ratio", "nodes", "time", "difference");
  for (size_t i = 0; i < t->n; i++) {
    const contender *c = &t->rows[i];
    if (!c->session) {
      printf("%-24s not here: %s\n", c->label, c->why);
      continue;
    }
    printf("%-24s %10.3f %8.2f %6.0f%% %6.0f%% ", c->label, c->median, c->median / first_median(t),
           c->nodes ? 100.0 * (double)c->taken / (double)c->nodes : 0, 100 * c->time_share);
    c->difference < 0 ? printf("%11s\n", "-") : printf("%11.2g\n", c->difference);
  }
}

static void print_json(const contest *t) {
  ox_json j = cli_json();
  ox_json_begin_array(&j);
  for (size_t i = 0; i < t->n; i++) {
    const contender *c = &t->rows[i];
    ox_json_begin_object(&j);
    ox_json_string(ox_json_key(&j, "provider"), c->label);
    ox_json_string(ox_json_key(&j, "why"), c->why);
    if (c->session) {
      ox_json_double(ox_json_key(&j, "median_ms"), c->median);
      ox_json_double(ox_json_key(&j, "min_ms"), c->least);
      ox_json_uint(ox_json_key(&j, "runs"), c->n_times);
      ox_json_double(ox_json_key(&j, "ratio"), c->median / first_median(t));
      ox_json_uint(ox_json_key(&j, "nodes"), c->nodes);
      ox_json_uint(ox_json_key(&j, "nodes_taken"), c->taken);
      ox_json_double(ox_json_key(&j, "time_share"), c->time_share);
      ox_json_key(&j, "difference");
      c->difference < 0 ? ox_json_string(&j, NULL) : ox_json_double(&j, c->difference);
    }
    ox_json_end_object(&j);
  }
  ox_json_end_array(&j);
  ox_json_end(&j);
}

static ox_status *work(contest *t, const cli_providers *p, double seconds, const char *path) {
  size_t n_here = 0;
  ox_status *st = cli_model_fill(t->m);
  for (size_t i = 0; i < t->n && !st; i++)
    open_one(t, &t->rows[i], &p->specs[i], path), n_here += t->rows[i].session != NULL;
  if (!st && !n_here) st = ox_task_error(OX_FAIL, "none of these providers can run the model here");
  if (!st) st = measure(t, p, seconds);
  if (st) return st;
  t->m->json ? print_json(t) : print_text(t);
  return NULL;
}

int cli_bench_compare(cli_model *m, char *list, double seconds, const char *path) {
  static cli_providers providers; /* too large for the stack */
  providers.asked.items[providers.asked.n++] = list;
  if (!cli_providers_parse(&providers, "compare")) return EXIT_USAGE;
  contest t = {m, calloc(providers.n, sizeof *t.rows), providers.n};
  ox_status *st = t.rows ? work(&t, &providers, seconds, path) : ox_task_error(OX_OUT_OF_MEMORY, "out of memory");
  int code = st ? cli_fail(st) : EXIT_OK;
  for (size_t i = 0; i < t.n && t.rows; i++) {
    contender *c = &t.rows[i];
    if (c->out) drop(c->out, m->n_out);
    ox_session_release(c->session);
    free(c->out), free(c->times);
  }
  free(t.rows);
  return code;
}
