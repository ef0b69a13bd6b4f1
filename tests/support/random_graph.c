/* SPDX-License-Identifier: Apache-2.0
 * support/random_graph.c - see random_graph.h; the steps are in random_graph_*.c. */
#include "support/random_graph.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "graph/dtype.h"
#include "support/check.h"
#include "support/random_maker.h"

/* ---- draws ---- */

uint32_t maker_pick(maker *m, uint32_t n) {
  m->random = m->random * 1664525 + 1013904223;
  return (m->random >> 8) % n; /* the low bits have short periods */
}

bool maker_chance(maker *m, int percent) { return (int)maker_pick(m, 100) < percent; }

/* ---- text ---- */

static void put_args(maker_text *t, const char *fmt, va_list args) {
  t->n += (size_t)vsnprintf(t->text + t->n, sizeof t->text - t->n, fmt, args);
  assert_true(t->n < sizeof t->text);
}

static void put(maker_text *t, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  put_args(t, fmt, args);
  va_end(args);
}

void maker_put(maker *m, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  put_args(&m->nodes, fmt, args);
  va_end(args);
}

static void put_dims(maker_text *t, const int64_t *v, int n) {
  for (int i = 0; i < n; i++) put(t, "%s%lld", i ? "," : "", (long long)v[i]);
}

void maker_put_list(maker *m, const char *name, const int64_t *v, int n) {
  maker_put(m, "%s = [", name);
  put_dims(&m->nodes, v, n);
  maker_put(m, "]");
}

/* ---- constants ---- */

static int begin_weight(maker *m, const char *type, maker_shape s) {
  put(&m->weights, "%s%s", m->n_weights ? ", " : "", type);
  if (s.rank) {
    put(&m->weights, "[");
    put_dims(&m->weights, s.dim, s.rank);
    put(&m->weights, "]");
  }
  put(&m->weights, " w%d = {", m->n_weights);
  return m->n_weights++;
}

static bool is_half(const maker *m) { return m->kind == MAKER_HALVES && m->written != RANDOM_WIDE; }
const char *maker_type(const maker *m) { return is_half(m) ? "float16" : "float"; }

int maker_nudge(const maker *m) {
  return m->written < RANDOM_LOWER ? 0 : m->written == RANDOM_HIGHER || m->written == RANDOM_FARTHER ? 1 : -1;
}

/* A number of the model, whose type may have 16 bits, whatever it is written in; with a point, as ONNX takes whole
 * numbers for the bits of such a type. */
static void put_number(maker *m, double v, int digits) {
  bool half = m->kind == MAKER_HALVES;
  put(&m->weights, "%.*f", half ? 10 : digits, half ? (double)ox_f16_to_f32(ox_f16_from_f32((float)v)) : v);
}

int maker_floats(maker *m, maker_shape s, double low, double high) {
  int w = begin_weight(m, maker_type(m), s);
  m->n_drawn += maker_count(&s);
  for (int64_t i = 0; i < maker_count(&s); i++) {
    if (i) put(&m->weights, ",");
    put_number(m, low + (high - low) * maker_pick(m, 1001) / 1000, 3);
  }
  put(&m->weights, "}");
  return w;
}

int maker_float(maker *m, double v) {
  int w = begin_weight(m, maker_type(m), (maker_shape){0});
  put_number(m, v, 7);
  put(&m->weights, "}");
  return w;
}

int maker_scale(maker *m, const maker_scales *s) {
  int w = begin_weight(m, "float", (maker_shape){s->n > 1, {s->n}});
  for (int i = 0; i < s->n; i++) put(&m->weights, "%s%.9g", i ? "," : "", s->v[i]);
  put(&m->weights, "}");
  return w;
}

int maker_integers(maker *m, const char *type, maker_shape s, int low, int high) {
  int w = begin_weight(m, type, s);
  m->n_drawn += maker_count(&s);
  for (int64_t i = 0; i < maker_count(&s); i++)
    put(&m->weights, "%s%d", i ? "," : "", low + (int)maker_pick(m, (uint32_t)(high - low + 1)));
  put(&m->weights, "}");
  return w;
}

int maker_ints_of(maker *m, maker_shape s, const int64_t *v) {
  int w = begin_weight(m, "int64", s);
  put_dims(&m->weights, v, (int)maker_count(&s));
  put(&m->weights, "}");
  return w;
}

int maker_ints(maker *m, const int64_t *v, int n) { return maker_ints_of(m, (maker_shape){1, {n}}, v); }

/* ---- values ---- */

int64_t maker_count(const maker_shape *s) {
  int64_t n = 1;
  for (int i = 0; i < s->rank; i++) n *= s->dim[i];
  return n;
}

bool maker_fits(const maker_shape *s, int64_t terms) {
  for (int i = 0; i < s->rank; i++)
    if (s->dim[i] < 1) return false;
  return maker_count(s) <= 8192 && maker_count(s) * terms <= 400000;
}

int maker_add(maker *m, maker_shape s, double size) {
  assert_true(m->n_values < MAKER_VALUES);
  m->value[m->n_values] = (maker_value){.shape = s, .size = size};
  return m->n_values++;
}

const maker_value *maker_use(maker *m, int x) {
  m->value[x].used = true;
  return &m->value[x];
}

/* ---- models ---- */

/* As often as they stand here. */
static const maker_step steps[] = {maker_conv,
                                   maker_conv,
                                   maker_conv,
                                   maker_conv,
                                   maker_conv,
                                   maker_conv_transpose,
                                   maker_pool,
                                   maker_pool,
                                   maker_resize,
                                   maker_global_pool,
                                   maker_batch_norm,
                                   maker_activation,
                                   maker_activation,
                                   maker_activation,
                                   maker_prelu,
                                   maker_clip,
                                   maker_clip,
                                   maker_written_out,
                                   maker_binary,
                                   maker_binary,
                                   maker_binary,
                                   maker_binary,
                                   maker_concat,
                                   maker_split,
                                   maker_slice,
                                   maker_pad,
                                   maker_pad,
                                   maker_transpose,
                                   maker_reshape,
                                   maker_matmul,
                                   maker_matmul,
                                   maker_gemm,
                                   maker_softmax,
                                   maker_layer_norm,
                                   maker_reduce,
                                   maker_gather,
                                   maker_scatter,
                                   maker_where,
                                   maker_repeat,
                                   maker_depth,
                                   maker_norm,
                                   maker_cumsum,
                                   maker_dynamic,
                                   maker_qlinear,
                                   maker_if,
                                   maker_loop,
                                   maker_scan,
                                   maker_sequence,
                                   maker_recurrent,
                                   maker_recurrent,
                                   maker_top,
                                   maker_attention,
                                   maker_decoder,
                                   maker_attention,
                                   maker_norm_written_out,
                                   maker_shape_of,
                                   maker_einsum,
                                   maker_fused,
                                   maker_fused,
                                   maker_qlinear_fused};

maker_step maker_draw_step(maker *m) { return steps[maker_pick(m, OX_COUNT(steps))]; }

static void draw_inputs(maker *m) {
  int n = MAKER_ONE_OF(m, 1, 1, 2);
  for (int i = 0; i < n; i++) {
    maker_shape s = {.rank = MAKER_ONE_OF(m, 4, 4, 4, 3, 3, 2, 5, 1)};
    do {
      for (int d = 0; d < s.rank; d++)
        s.dim[d] =
            s.rank == 5 ? MAKER_ONE_OF(m, 1, 2, 3, 5, 7) : MAKER_ONE_OF(m, 1, 1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 33);
      if (s.rank >= 3) s.dim[0] = MAKER_ONE_OF(m, 1, 1, 2, 3);
    } while (!maker_fits(&s, 1));
    maker_add(m, s, 1);
  }
}

static void draw_nodes(maker *m, int n_inputs) {
  int wanted = n_inputs + 3 + (int)maker_pick(m, 12);
  while (m->n_values < wanted && m->n_drawn < MAKER_DRAWN) {
    bool latest = m->n_values > n_inputs && maker_chance(m, 60); /* chains */
    int x = latest ? m->n_values - 1 : (int)maker_pick(m, (uint32_t)m->n_values);
    int before = m->n_values;
    if (m->value[x].hidden) continue;
    maker_draw_step(m)(m, x);
    if (m->n_values > before && maker_chance(m, 75)) maker_through_bytes(m, m->n_values - 1);
  }
}

/* Inputs keep their type: they are read as 32-bit floats. */
static void put_wide_inputs(maker *m, int n_inputs) {
  for (int v = 0; m->kind == MAKER_HALVES && m->written == RANDOM_WIDE && v < n_inputs; v++)
    maker_put(m, "  v%d = Cast <to = 1> (h%d)\n", v, v);
}

/* Inputs whose first dimension is the batch may have it free; then nothing is said about the outputs. */
static void put_values(maker_text *t, const maker *m, int first, int end, bool free_batch) {
  for (int v = first, n = 0; v < end; v++) {
    const maker_shape *s = &m->value[v].shape;
    bool is_free = first == 0 && free_batch && s->dim[0] == m->value[0].shape.dim[0];
    if (first && m->value[v].used) continue;
    bool cast = first == 0 && m->kind == MAKER_HALVES && m->written == RANDOM_WIDE;
    put(t, "%s%s", n++ ? ", " : "", cast ? "float16" : maker_type(m));
    if (first && free_batch) {
      put(t, "[]");
    } else if (s->rank) {
      put(t, is_free ? "[N%s" : "[", s->rank > 1 ? "," : "");
      put_dims(t, s->dim + is_free, s->rank - is_free);
      put(t, "]");
    }
    put(t, " %c%d", cast ? 'h' : 'v', v);
  }
}

void random_graph_draw(uint32_t seed, random_graph_form form, random_graph *out) {
  static maker m; /* too large for a stack */
  static maker_text head;
  m.random = seed * 2654435761u + 12345, m.n_values = m.n_weights = m.n_bodies = m.depth = 0, m.n_drawn = 0,
  m.weights.n = m.nodes.n = head.n = 0;
  m.weights.text[0] = m.nodes.text[0] = 0;
  m.written = form;
  m.opset = MAKER_ONE_OF(&m, 17, 21, 23);
  m.kind =
      (maker_kind)MAKER_ONE_OF(&m, MAKER_FLOATS, MAKER_FLOATS, MAKER_FLOATS, MAKER_BYTES, MAKER_BYTES, MAKER_HALVES);
  m.quantum = m.form.size = m.slack = 0, m.has_ties = false;
  bool free_batch = maker_chance(&m, 40);
  draw_inputs(&m);
  int n_inputs = m.n_values;
  put_wide_inputs(&m, n_inputs);
  for (int v = 0; v < n_inputs; v++) maker_through_bytes(&m, v);
  draw_nodes(&m, n_inputs);
  for (int v = n_inputs; v < m.n_values - 1; v++) m.value[v].used &= m.value[v].hidden || !maker_chance(&m, 10);
  put(&head, "<ir_version: 8, opset_import: [\"\" : %d, \"com.microsoft\" : 1]>\ng (", m.opset);
  put_values(&head, &m, 0, n_inputs, free_batch);
  put(&head, ") => (");
  put_values(&head, &m, n_inputs, m.n_values, free_batch);
  out->batch = m.value[0].shape.dim[0], out->batch_is_free = free_batch;
  out->has_halves = m.kind == MAKER_HALVES, out->has_bytes = m.kind == MAKER_BYTES, out->quantum = m.quantum,
  out->slack = m.slack, out->has_ties = m.has_ties;
  int n = snprintf(out->text, sizeof out->text, "%s)\n<%s>\n{\n%s}\n", head.text, m.weights.text, m.nodes.text);
  assert_true(n > 0 && (size_t)n < sizeof out->text);
}
