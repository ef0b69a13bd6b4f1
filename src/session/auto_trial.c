/* SPDX-License-Identifier: Apache-2.0
 * session/auto_trial.c - measures one provider after the other against the CPU: see auto.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "graph/dtype.h"
#include "base/macros.h"
#include "plan/kept_parts.h"
#include "session/auto.h"

enum { MOST_PARTS = 256, ROUNDS = 7, PROFILED = 3, MOST_RUNS = 4096 };
enum { HOPELESS = 6 /* times as long as the CPU */, TURN_NS = 20000000, LONG_NS = 1000000000 };

/* A session under trial, with the inputs that all share. */
typedef struct trial {
  ox_session *s;
  double *times; /* MOST_RUNS */
  size_t n;
} trial;

typedef struct trials {
  ox_env *env;
  const ox_model_source *from;
  const ox_session_opts *o;
  trial cpu;
  ox_value **in, **want;
  const char **names;
  size_t n_in, n_out;
} trials;

/* ---- sessions and inputs ---- */

static ox_status *open_trial(const trials *t, const char *provider, const char *parts, trial *out) {
  const char *key = OX_PARTS_OPTION;
  const ox_provider_spec spec = {provider, {parts ? 1 : 0, &key, &parts}};
  ox_session_opts o = *t->o;
  o.providers = &spec, o.n_providers = 1;
  o.require = NULL, o.n_require = 0, o.profile = 0, o.dump_before = o.dump_after = NULL, o.all_values = 0;
  *out = (trial){.times = malloc(MOST_RUNS * sizeof(double))};
  if (!out->times) return ox_oom();
  return ox_session_create_from(t->env, t->from, &o, NULL, &out->s);
}

static void close_trial(trial *t) {
  ox_session_release(t->s);
  free(t->times);
  *t = (trial){0};
}

/* Numbers between -1 and 1; integers and bools are 0 and 1 in turn, so that they may be indices. */
static void fill(ox_value *v) {
  const ox_tensor *t = ox_value_get(v);
  int64_t n = ox_tensor_count(t);
  uint32_t seed = 12345, size = ox_dtype_bits(t->dtype) / 8;
  for (int64_t i = 0; i < n; i++) {
    seed = seed * 1664525u + 1013904223u;
    float f = (float)(seed >> 8) / 8388608.0f - 1;
    if (t->dtype == OX_F32)
      ((float *)t->data)[i] = f;
    else if (t->dtype == OX_F64)
      ((double *)t->data)[i] = f;
    else if (t->dtype == OX_F16)
      ((uint16_t *)t->data)[i] = (uint16_t)(0x3000 | (seed >> 22));
    else if (t->dtype == OX_BF16)
      ((uint16_t *)t->data)[i] = (uint16_t)(0x3e00 | (seed >> 24));
    else if (size)
      ((unsigned char *)t->data)[(size_t)i * size] = (unsigned char)(i & 1);
  }
}

static ox_status *make_room(trials *t) {
  const ox_session *s = t->cpu.s;
  t->n_in = ox_session_input_count(s), t->n_out = ox_session_output_count(s);
  t->in = calloc(t->n_in + 1, sizeof *t->in), t->names = calloc(t->n_in + 1, sizeof *t->names);
  t->want = calloc(t->n_out + 1, sizeof *t->want);
  return t->in && t->names && t->want ? NULL : ox_oom();
}

/* Open dimensions: of a batch 1, others |otherwise|. */
static ox_status *make_inputs(trials *t, int64_t otherwise) {
  const ox_session *s = t->cpu.s;
  for (size_t i = 0; i < t->n_in; i++) {
    ox_value_info info;
    OX_TRY(ox_session_input(s, i, &info));
    t->names[i] = info.name;
    if (info.kind != OX_TENSOR || info.rank < 0 || info.dtype == OX_STRING)
      return ox_fail(OX_NOT_IMPLEMENTED, "input '%s' cannot be made up", info.name);
    for (int32_t d = 0; d < info.rank; d++) info.dims[d] = info.dims[d] >= 0 ? info.dims[d] : d ? otherwise : 1;
    ox_value_release(t->in[i]);
    t->in[i] = NULL;
    OX_TRY(ox_value_create(t->env, info.dtype, info.dims, (size_t)info.rank, &t->in[i]));
    fill(t->in[i]);
  }
  return NULL;
}

/* ---- runs ---- */

static ox_status *run(const trials *t, const trial *x, ox_value **out, double *ns) {
  ox_run_opts ro = {.struct_size = sizeof ro, .cancel = t->o->cancel};
  int64_t start = ox_clock_ns();
  ox_status *st = ox_session_run(x->s, &ro, t->names, (const ox_value *const *)t->in, t->n_in, NULL, out, t->n_out);
  *ns = (double)(ox_clock_ns() - start);
  return st;
}

static void drop(const trials *t, ox_value **out) {
  for (size_t i = 0; i < t->n_out; i++) ox_value_release(out[i]), out[i] = NULL;
}

/* About 20 ms of runs; the first finds another's data in the caches and does not count. */
static ox_status *turn(const trials *t, trial *x, ox_value **out) {
  double ns;
  int64_t end = ox_clock_ns() + TURN_NS;
  ox_status *st = run(t, x, out, &ns);
  drop(t, out);
  do {
    if (!st) st = run(t, x, out, &ns);
    drop(t, out);
    if (!st && x->n < MOST_RUNS) x->times[x->n++] = ns;
  } while (!st && ox_clock_ns() < end);
  return st;
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(trial *x) {
  qsort(x->times, x->n, sizeof *x->times, by_size);
  return x->n ? x->times[x->n / 2] : INFINITY;
}

/* The time of |x| relative to the CPU's, measured in turns. */
static ox_status *race(trials *t, trial *x, double *out_ratio, double *out_cpu_ns) {
  ox_value **out = calloc(t->n_out + 1, sizeof *out);
  ox_status *st = out ? NULL : ox_oom();
  bool hopeless = false;
  x->n = t->cpu.n = 0;
  for (int i = 0; i < ROUNDS && !st && !hopeless; i++) {
    st = turn(t, &t->cpu, out);
    if (!st) st = turn(t, x, out);
    hopeless = !st && x->n == 1 && x->times[0] > HOPELESS * t->cpu.times[t->cpu.n / 2];
  }
  *out_cpu_ns = median(&t->cpu);
  *out_ratio = median(x) / *out_cpu_ns;
  free(out);
  return st;
}

/* ---- whether it is right ---- */

static bool close_enough(const ox_tensor *got, const ox_tensor *want) {
  int64_t n = ox_tensor_count(want);
  double largest = 0;
  if (got->kind != want->kind || got->dtype != want->dtype || got->bytes != want->bytes) return false;
  if (want->kind != OX_TENSOR || want->dtype == OX_STRING) return true;
  for (int64_t i = 0; i < n; i++) {
    double w = fabs(ox_tensor_element(want, i));
    if (isfinite(w) && w > largest) largest = w;
  }
  for (int64_t i = 0; i < n; i++) {
    double g = ox_tensor_element(got, i), w = ox_tensor_element(want, i);
    if (g != w && !(isnan(g) && isnan(w)) && !(fabs(g - w) <= 1e-3 * largest)) return false;
  }
  return true;
}

static ox_status *check(const trials *t, const trial *x, bool *out_right) {
  double ns;
  ox_value **out = calloc(t->n_out + 1, sizeof *out);
  ox_status *st = out ? run(t, x, out, &ns) : ox_oom();
  *out_right = !st;
  for (size_t i = 0; i < t->n_out && !st; i++)
    *out_right &=
        ox_session_output_is_random(t->cpu.s, i) || close_enough(ox_value_get(out[i]), ox_value_get(t->want[i]));
  if (out) drop(t, out);
  free(out);
  return st;
}

/* ---- which programs are worth it ---- */

/* A program: its time, and what its nodes take on the CPU. */
typedef struct part {
  const char *name;
  uint32_t hash; /* of one of its nodes; 0: none has a name */
  double here, there;
} part;

static ox_status *profile(const trials *t, const trial *x) {
  ox_value **out = calloc(t->n_out + 1, sizeof *out);
  double ns;
  ox_status *st = out ? run(t, x, out, &ns) : ox_oom();
  if (out) drop(t, out);
  ox_session_profile_start(x->s);
  for (int i = 0; i < PROFILED && !st; i++) {
    st = run(t, x, out, &ns);
    drop(t, out);
  }
  ox_session_profile_stop(x->s);
  free(out);
  return st;
}

static size_t list_parts(const trial *x, part *parts) {
  ox_placement p;
  ox_node_time e;
  size_t n = 0;
  for (size_t i = 0; ox_session_placement(x->s, i, &p); i++) {
    size_t k = 0;
    if (!*p.part || *p.graph) continue;
    while (k < n && strcmp(parts[k].name, p.part) != 0) k++;
    if (k == MOST_PARTS) return 0;
    if (k == n) parts[n++] = (part){.name = p.part};
    const char *name = p.n_from ? p.from[0] : x->s->labels[i];
    if (!parts[k].hash && *name) parts[k].hash = ox_part_hash(name);
  }
  for (size_t i = 0; ox_session_profile_event(x->s, i, &e); i++)
    for (size_t k = 0; k < n; k++)
      if (strcmp(parts[k].name, e.name) == 0) parts[k].here += e.duration_us;
  return n;
}

/* The program of |x| that has node |name| of the model; NULL: none. */
static part *part_of(const trial *x, part *parts, size_t n, const char *name) {
  ox_placement p;
  for (size_t i = 0; ox_session_placement(x->s, i, &p); i++) {
    bool is_it = *p.part && strcmp(x->s->labels[i], name) == 0;
    for (size_t k = 0; k < p.n_from && !is_it; k++) is_it = *p.part && strcmp(p.from[k], name) == 0;
    for (size_t k = 0; k < n && is_it; k++)
      if (strcmp(parts[k].name, p.part) == 0) return &parts[k];
  }
  return NULL;
}

/* Adds the time of each row of the CPU's placement to the programs that have its nodes, in equal shares. */
static void add_cpu_times(const trials *t, const trial *x, part *parts, size_t n) {
  ox_node_time e;
  for (size_t i = 0; ox_session_profile_event(t->cpu.s, i, &e); i++) {
    ox_placement p;
    for (size_t k = 0; ox_session_placement(t->cpu.s, k, &p); k++) {
      if (strcmp(t->cpu.s->labels[k], e.name) != 0) continue;
      size_t shares = OX_MAX(p.n_from, 1);
      for (size_t f = 0; f < shares; f++) {
        part *to = part_of(x, parts, n, p.n_from ? p.from[f] : e.name);
        if (to) to->there += e.duration_us / (double)shares;
      }
      break;
    }
  }
}

/* The programs of |x| that are slower than the CPU as a text for OX_PARTS_OPTION; "": there is nothing to choose. */
static ox_status *find_losers(const trials *t, const trial *x, char *out, size_t n_out) {
  part *parts = calloc(MOST_PARTS + 1, sizeof *parts);
  *out = 0;
  ox_status *st = parts ? profile(t, x) : ox_oom();
  if (!st) st = profile(t, &t->cpu);
  size_t n = st ? 0 : list_parts(x, parts), lost = 0, known = 0, at = 1;
  add_cpu_times(t, x, parts, n);
  for (size_t k = 0; k < n; k++) lost += parts[k].here > parts[k].there, known += parts[k].hash != 0;
  bool any = lost && lost < n && known == n, list_losers = lost <= n / 2;
  for (size_t k = 0; k < n && any; k++) {
    if ((parts[k].here > parts[k].there) != list_losers) continue;
    int len = snprintf(out + at, n_out - at, "%s%08x", at > 1 ? "," : "", parts[k].hash);
    any = len > 0 && (size_t)len < n_out - at;
    at += any ? (size_t)len : 0;
  }
  *out = any ? list_losers ? '-' : '+' : 0;
  free(parts);
  return st;
}

/* ---- all ---- */

static void note(const trials *t, const char *provider, const char *what) {
  ox_log log = t->o->log ? (ox_log){t->o->log, t->o->log_ctx, (ox_log_level)t->o->log_level} : t->env->log;
  ox_log_write(&log, OX_LOG_INFO, "auto: provider %s: %s", provider, what);
}

/* Adds the result of |provider| with |parts| (NULL: all). If it fails, it is no candidate; the error goes no
 * further. */
static void try_one(trials *t, const char *provider, const char *parts, ox_trial_result *results, size_t *n,
                    char *losers, size_t n_losers) {
  trial x = {0};
  bool right = false;
  double ratio = 0, cpu_ns = 0;
  if (losers) *losers = 0;
  ox_status *st = open_trial(t, provider, parts, &x);
  if (!st) st = check(t, &x, &right);
  if (!st && right) st = race(t, &x, &ratio, &cpu_ns);
  if (!st && right && losers && ratio * cpu_ns < LONG_NS) st = find_losers(t, &x, losers, n_losers);
  if (st)
    note(t, provider, ox_status_message(st));
  else if (!right)
    note(t, provider, "its outputs differ from the CPU's");
  if (!st && right && *n < OX_MOST_TRIALS) {
    ox_trial_result *r = &results[*n];
    if (*n == 1) results[0].ns = cpu_ns; /* the clock that all share */
    snprintf(r->way, sizeof r->way, "%s%s%s", provider, parts ? " " : "", parts ? parts : "");
    r->ns = ratio * results[0].ns;
    ++*n;
  }
  ox_status_free(st);
  close_trial(&x);
}

static ox_status *measure_all(trials *t, const char *const *providers, size_t n_providers, ox_trial_result *results,
                              size_t *n) {
  char losers[OX_TRIAL_NAME - 40];
  double ns;
  OX_TRY(open_trial(t, "cpu", NULL, &t->cpu));
  OX_TRY(make_room(t));
  OX_TRY(make_inputs(t, 64));
  ox_status *st = run(t, &t->cpu, t->want, &ns);
  if (st && ox_status_code(st) != OX_CANCELLED) { /* such sizes do not fit together */
    ox_status_free(st);
    OX_TRY(make_inputs(t, 1));
    st = run(t, &t->cpu, t->want, &ns);
  }
  OX_TRY(st);
  snprintf(results[0].way, sizeof results[0].way, "cpu");
  results[0].ns = ns, *n = 1;
  for (size_t i = 0; i < n_providers; i++) {
    try_one(t, providers[i], NULL, results, n, losers, sizeof losers);
    if (*losers) try_one(t, providers[i], losers, results, n, NULL, 0);
  }
  return NULL;
}

ox_status *ox_auto_measure(ox_env *env, const ox_model_source *from, const ox_session_opts *o,
                           const char *const *providers, size_t n_providers, ox_trial_result *results, size_t *n) {
  trials t = {.env = env, .from = from, .o = o};
  *n = 0;
  ox_status *st = measure_all(&t, providers, n_providers, results, n);
  if (st) *n = 0;
  for (size_t i = 0; i < t.n_in && t.in; i++) ox_value_release(t.in[i]);
  if (t.want) drop(&t, t.want);
  free(t.in), free(t.names), free(t.want);
  close_trial(&t.cpu);
  return st;
}
