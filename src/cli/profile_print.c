/* SPDX-License-Identifier: Apache-2.0
 * cli/profile_print.c - the tables of a profile as text and as JSON. */
#include <inttypes.h>

#include "profile_table.h"

/* ---- text ---- */

static void print_limits(const cli_limits *l) {
  printf("at most on %" PRIu32 " thread%s (%s): %.0f GFLOP/s", l->n_threads, l->n_threads == 1 ? "" : "s", l->isa,
         l->float_gflops);
  if (l->int8_gops > 0) printf(", 8 bits %.0f GOP/s", l->int8_gops);
  printf("; reads in GB/s:");
  for (size_t i = 0; i < l->n_reads; i++) {
    size_t kib = l->read[i].bytes >> 10;
    printf("%s %zu %s %.0f", i ? "," : "", kib < 1024 ? kib : kib >> 10, kib < 1024 ? "KiB" : "MiB", l->read[i].gbs);
  }
  printf("\n");
}

static void print_rate(double amount, double us) {
  if (amount > 0 && us > 0)
    printf(" %8.1f", amount / us / 1e3);
  else
    printf(" %8s", "");
}

static void print_numbers(const cli_profile *p, const cli_profile_row *r) {
  double runs = (double)p->runs;
  printf("%9.3f %9.3f %6.1f%% %6zu", r->lost_us / 1e3 / runs, r->us / 1e3 / runs, p->us > 0 ? 100 * r->us / p->us : 0,
         r->calls / p->runs);
  print_rate(r->flops, r->us);
  print_rate(r->bytes, r->us);
  printf(" %6.1f%%  ", r->us > 0 ? 100 * r->limit_us / r->us : 0);
}

static void print_tensor(const ox_tensor *t) {
  if (t->dtype == OX_UNDEFINED || t->shape.rank < 0) {
    printf("?");
    return;
  }
  for (int i = 0; i < t->shape.rank; i++) printf("%s%" PRId64, i ? "x" : "", t->shape.dim[i]);
  if (!t->shape.rank) printf("1");
}

/* The first two inputs and the first output say what there is to do. */
static void print_shapes(const cli_profile_row *r) {
  for (uint32_t i = 0; i < r->n_in && i < 2; i++) {
    printf(i ? " * " : "  ");
    print_tensor(&r->in[i]);
  }
  if (!r->n_out) return;
  printf(" -> ");
  print_tensor(&r->out[0]);
}

static void print_head(const char *title) {
  printf("\n  lost ms  ms / run   share  calls  GFLOP/s     GB/s   limit  %s\n", title);
}

void cli_profile_print(const cli_profile *p, size_t most) {
  double runs = (double)p->runs;
  printf("%.3f ms per run over %zu run%s, %.3f of it more than the machine needs at its best\n", p->us / 1e3 / runs,
         p->runs, p->runs == 1 ? "" : "s", p->lost_us / 1e3 / runs);
  print_limits(&p->limits);
  print_head("operator");
  for (size_t i = 0; i < p->ops.n; i++) print_numbers(p, &p->ops.rows[i]), printf("%s\n", p->ops.rows[i].op);
  print_head("form");
  for (size_t i = 0; i < p->forms.n; i++) {
    const cli_profile_row *r = &p->forms.rows[i];
    if (!r->form[0]) continue;
    print_numbers(p, r);
    printf("%s: %s\n", r->op, r->form);
  }
  print_head("node");
  for (size_t i = 0; i < p->nodes.n && i < most; i++) {
    const cli_profile_row *r = &p->nodes.rows[i];
    print_numbers(p, r);
    printf("%-32.32s %-18.18s %-28.28s", r->name, r->op, r->form);
    print_shapes(r);
    printf("\n");
  }
}

/* ---- JSON ---- */

static void put_limits(ox_json *j, const cli_limits *l) {
  char size[32];
  ox_json_begin_object(j);
  ox_json_string(ox_json_key(j, "isa"), l->isa);
  ox_json_uint(ox_json_key(j, "threads"), l->n_threads);
  ox_json_double(ox_json_key(j, "float_gflops"), l->float_gflops);
  if (l->int8_gops > 0) ox_json_double(ox_json_key(j, "int8_gops"), l->int8_gops);
  ox_json_begin_object(ox_json_key(j, "read_gbs"));
  for (size_t i = 0; i < l->n_reads; i++) {
    snprintf(size, sizeof size, "%zu", l->read[i].bytes);
    ox_json_double(ox_json_key(j, size), l->read[i].gbs);
  }
  ox_json_end_object(j);
  ox_json_end_object(j);
}

static void put_tensors(ox_json *j, const char *key, const ox_tensor *t, uint32_t n) {
  ox_json_begin_array(ox_json_key(j, key));
  for (uint32_t i = 0; i < n; i++) {
    ox_json_begin_array(j);
    for (int k = 0; k < t[i].shape.rank; k++) ox_json_int(j, t[i].shape.dim[k]);
    ox_json_end_array(j);
  }
  ox_json_end_array(j);
}

static void put_numbers(ox_json *j, const cli_profile *p, const cli_profile_row *r) {
  double runs = (double)p->runs;
  ox_json_double(ox_json_key(j, "ms"), r->us / 1e3 / runs);
  ox_json_double(ox_json_key(j, "lost_ms"), r->lost_us / 1e3 / runs);
  ox_json_double(ox_json_key(j, "limit_ms"), r->limit_us / 1e3 / runs);
  ox_json_uint(ox_json_key(j, "calls"), r->calls / p->runs);
  ox_json_double(ox_json_key(j, "flops"), r->flops / runs);
  ox_json_double(ox_json_key(j, "bytes"), r->bytes / runs);
}

static void put_rows(ox_json *j, const char *key, const cli_profile *p, const cli_profile_rows *t) {
  ox_json_begin_array(ox_json_key(j, key));
  for (size_t i = 0; i < t->n; i++) {
    const cli_profile_row *r = &t->rows[i];
    ox_json_begin_object(j);
    if (t == &p->nodes) ox_json_string(ox_json_key(j, "name"), r->name);
    ox_json_string(ox_json_key(j, "op"), r->op);
    if (t != &p->ops) ox_json_string(ox_json_key(j, "form"), r->form);
    if (t == &p->nodes) {
      ox_json_string(ox_json_key(j, "provider"), r->provider);
      put_tensors(j, "in", r->in, r->n_in);
      put_tensors(j, "out", r->out, r->n_out);
    }
    put_numbers(j, p, r);
    ox_json_end_object(j);
  }
  ox_json_end_array(j);
}

void cli_profile_print_json(const cli_profile *p) {
  ox_json j = cli_json();
  double runs = (double)p->runs;
  ox_json_begin_object(&j);
  ox_json_uint(ox_json_key(&j, "runs"), p->runs);
  ox_json_double(ox_json_key(&j, "total_ms"), p->us / 1e3 / runs);
  ox_json_double(ox_json_key(&j, "lost_ms"), p->lost_us / 1e3 / runs);
  put_limits(ox_json_key(&j, "limits"), &p->limits);
  put_rows(&j, "operators", p, &p->ops);
  put_rows(&j, "forms", p, &p->forms);
  put_rows(&j, "nodes", p, &p->nodes);
  ox_json_end_object(&j);
  ox_json_end(&j);
}
