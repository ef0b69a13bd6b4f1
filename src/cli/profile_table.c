/* SPDX-License-Identifier: Apache-2.0
 * cli/profile_table.c - sums and sorts the events of a profile. */
#include "profile_table.h"

#include <stdlib.h>
#include <string.h>

/* Runs repeat the same nodes in the same order: the row is mostly the one after the last. */
static cli_profile_row *find(cli_profile_rows *t, const char *name, const char *op, const char *form) {
  for (size_t k = 1; k <= t->n; k++) {
    size_t i = (t->last + k) % t->n;
    const cli_profile_row *r = &t->rows[i];
    if (strcmp(r->op, op) == 0 && strcmp(r->name, name) == 0 && strcmp(r->form, form) == 0)
      return &t->rows[t->last = i];
  }
  if (t->n == t->capacity) {
    size_t capacity = t->capacity ? t->capacity * 2 : 256;
    cli_profile_row *grown = realloc(t->rows, capacity * sizeof *grown);
    if (!grown) return NULL;
    t->rows = grown, t->capacity = capacity;
  }
  t->last = t->n++;
  t->rows[t->last] = (cli_profile_row){.name = name, .op = op, .form = form, .provider = "", .place = t->last};
  return &t->rows[t->last];
}

/* Bytes that the event read and wrote. Of a large constant that nothing is multiplied by, only what is taken out is
 * read: a table of embeddings. */
static void bytes_of(const ox_node_time *e, double *out_constant, double *out_other) {
  double in = 0;
  for (uint32_t i = 0; i < e->n_in; i++) in += (double)e->in[i].bytes;
  double constant = (double)e->constant_bytes, written = (double)e->output_bytes;
  *out_other = in - constant + written;
  *out_constant = e->flops > 0 || constant < written ? constant : written;
}

static bool has_8_bits(const ox_node_time *e) {
  for (uint32_t i = 0; i < e->n_in && i < 2; i++)
    if (e->in[i].dtype == OX_I8 || e->in[i].dtype == OX_U8) return true;
  return false;
}

static double over(double amount, double per_ns) { return per_ns > 0 ? amount / per_ns / 1e3 : 0; }

/* The longer of computing and moving. Constants come from where all of them together fit, as each run reads all; the
 * rest may still be where the node before has left it. */
static double limit_us(const cli_limits *l, const ox_node_time *e, double constant, double other, double constants) {
  double peak = has_8_bits(e) && l->int8_gops > 0 ? l->int8_gops : l->float_gflops;
  double compute = over(e->flops, peak);
  double move = over(constant, cli_limits_gbs(l, constants)) + over(other, cli_limits_gbs(l, other));
  return compute > move ? compute : move;
}

/* What event |i| took without the nodes in its bodies, whose events come before its own. */
static double own_us(const ox_session *s, size_t i, const ox_node_time *e) {
  ox_node_time inner;
  double us = e->duration_us, seen = e->start_us + e->duration_us;
  if (strcmp(e->provider, "host") != 0) return us;
  while (i-- > 0 && ox_session_profile_event(s, i, &inner) && inner.start_us >= e->start_us) {
    if (inner.start_us >= seen) continue; /* in a body of the one before */
    us -= inner.duration_us, seen = inner.start_us;
  }
  return us > 0 ? us : 0;
}

static bool add(cli_profile_row *r, const ox_node_time *e, double us, double bytes, double limit) {
  if (!r) return false;
  if (!r->calls) r->n_in = e->n_in, r->n_out = e->n_out, r->in = e->in, r->out = e->out, r->provider = e->provider;
  r->us += us, r->flops += e->flops, r->bytes += bytes, r->calls++;
  r->limit_us += limit, r->lost_us += us > limit ? us - limit : 0;
  return true;
}

static int by_place(const void *a, const void *b) {
  size_t x = ((const cli_profile_row *)a)->place, y = ((const cli_profile_row *)b)->place;
  return (x > y) - (x < y);
}

static int by_time(const void *a, const void *b) {
  double x = ((const cli_profile_row *)a)->us, y = ((const cli_profile_row *)b)->us;
  return x != y ? (x < y) - (x > y) : by_place(a, b);
}

static int by_lost(const void *a, const void *b) {
  double x = ((const cli_profile_row *)a)->lost_us, y = ((const cli_profile_row *)b)->lost_us;
  return x != y ? (x < y) - (x > y) : by_time(a, b);
}

static void sort(cli_profile_rows *t, cli_profile_order order) {
  int (*const compare[])(const void *, const void *) = {by_lost, by_time, by_place};
  if (t->n) qsort(t->rows, t->n, sizeof *t->rows, compare[order]);
}

bool cli_profile_fill(cli_profile *p, const ox_session *s, size_t runs, cli_profile_order order) {
  ox_node_time e;
  double constants = 0, constant, other;
  bool ok = true;
  for (size_t i = 0; ox_session_profile_event(s, i, &e); i++) {
    bytes_of(&e, &constant, &other);
    constants += constant / (double)runs;
  }
  for (size_t i = 0; ok && ox_session_profile_event(s, i, &e); i++) {
    const char *form = ox_session_profile_form(s, i);
    if (!form) form = "";
    bytes_of(&e, &constant, &other);
    double limit = limit_us(&p->limits, &e, constant, other, constants), bytes = constant + other;
    double us = own_us(s, i, &e);
    ok = add(find(&p->nodes, e.name, e.op, form), &e, us, bytes, limit);
    ok = ok && add(find(&p->ops, "", e.op, ""), &e, us, bytes, limit);
    ok = ok && add(find(&p->forms, "", e.op, form), &e, us, bytes, limit);
    p->us += us;
  }
  p->runs = runs;
  for (size_t i = 0; i < p->ops.n; i++) p->limit_us += p->ops.rows[i].limit_us, p->lost_us += p->ops.rows[i].lost_us;
  sort(&p->nodes, order), sort(&p->ops, order), sort(&p->forms, order);
  return ok;
}

void cli_profile_free(cli_profile *p) {
  free(p->nodes.rows);
  free(p->ops.rows);
  free(p->forms.rows);
}
