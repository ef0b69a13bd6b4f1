/* SPDX-License-Identifier: Apache-2.0
 * ops/variadic.c - Sum, Mean, Min, Max of any number of inputs, block by block: the running result stays in cache. */
#include <string.h>

#include "kern/binary/binary.h"
#include "kern/binary/broadcast.h"
#include "kern/quant/convert.h"
#include "ops/shared/check.h"
#include "ops/shared/tiles.h"

static ox_status *infer(ox_infer_ctx *c) {
  ox_shape s;
  OX_TRY(ox_infer_broadcast_of(c, 0, c->n_in, &s));
  ox_infer_out(c, 0, ox_infer_dtype_of(c, 0, c->n_in), &s);
  return NULL;
}

typedef struct {
  ox_binary fn;
  bool mean;
} variadic_state;

static ox_status *load(ox_load_ctx *c) {
  variadic_state *s = OX_LOAD_NEW(c, variadic_state);
  if (!s) return ox_oom();
  const char *op = c->op;
  s->fn = strcmp(op, "Min") == 0 ? OX_BIN_MIN : strcmp(op, "Max") == 0 ? OX_BIN_MAX : OX_BIN_ADD;
  s->mean = strcmp(op, "Mean") == 0;
  c->state = s;
  return NULL;
}

typedef struct {
  ox_bcast *each; /* of every input */
  ox_bcast pair;  /* of two */
  bool rows;      /* two inputs that need no widening go row by row: rows are long enough for a call */
} variadic_prep;

enum { LONG_ROW = 32 };

static ox_status *prepare(ox_kernel_ctx *c) {
  variadic_prep *p = ox_ctx_alloc(c, sizeof *p);
  ox_bcast *b = ox_ctx_alloc(c, c->n_in * sizeof *b);
  if (!p || !b) return ox_oom();
  for (uint32_t i = 0; i < c->n_in; i++) {
    if (!c->in[i]) return ox_fail(OX_INVALID_MODEL, "input %u is missing", i);
    ox_bcast_init(&b[i], &c->out[0]->shape, 1, &(const ox_shape *){&c->in[i]->shape});
  }
  if (c->n_in == 2) {
    ox_bcast_init(&p->pair, &c->out[0]->shape, 2, (const ox_shape *[]){&c->in[0]->shape, &c->in[1]->shape});
    p->rows = p->pair.dim[p->pair.rank - 1] >= LONG_ROW && !(OX_BIT(c->out[0]->dtype) & OX_T_FLOAT16S);
  }
  p->each = b, c->prep = p;
  return ox_plan_elements(c, OX_TILE_MATH);
}

enum { BLOCK = OX_CONVERT_BLOCK };

/* Input |i|'s elements for outputs [at, at + n): in place if it is dense, else spread into |spare|. */
static const void *operand(const ox_kernel_ctx *c, uint32_t i, size_t size, int64_t at, int64_t n, void *spare) {
  const ox_bcast *b = ((const variadic_prep *)c->prep)->each + i;
  if (b->dense[0]) return (const char *)c->in[i]->data + (size_t)at * size;
  ox_bcast_gather(b, 0, c->in[i]->data, size, at, n, spare);
  return spare;
}

/* Is input |i| one number for all outputs, such as a bound? It is not broadcast to a buffer. */
static bool is_one(const ox_kernel_ctx *c, uint32_t i) { return ox_shape_count(&c->in[i]->shape) == 1; }

static void block_native(const ox_kernel_ctx *c, ox_binary_fn *fn, size_t size, int64_t at, int64_t n) {
  uint64_t spare[BLOCK];
  char *y = (char *)c->out[0]->data + (size_t)at * size;
  const void *first = operand(c, 0, size, at, n, spare);
  if (c->n_in == 1) {
    if (first != y) memcpy(y, first, (size_t)n * size);
    return;
  }
  uint64_t second[BLOCK];
  for (uint32_t i = 1; i < c->n_in; i++) {
    const void *x = i == 1 ? first : y;
    if (is_one(c, i))
      fn(x, c->in[i]->data, y, (size_t)n, OX_BIN_B_SCALAR);
    else
      fn(x, operand(c, i, size, at, n, second), y, (size_t)n, 0);
  }
}

static void pair_native(const ox_kernel_ctx *c, ox_binary_fn *fn, size_t size, int64_t begin, int64_t end) {
  const ox_bcast *b = &((const variadic_prep *)c->prep)->pair;
  ox_bcast_run r;
  for (bool ok = ox_bcast_first(b, begin, end, &r); ok; ok = ox_bcast_next(b, &r))
    fn((const char *)c->in[0]->data + (size_t)r.off[0] * size, (const char *)c->in[1]->data + (size_t)r.off[1] * size,
       (char *)c->out[0]->data + (size_t)r.at * size, (size_t)r.n,
       (r.step[0] ? 0u : OX_BIN_A_SCALAR) | (r.step[1] ? 0u : OX_BIN_B_SCALAR));
}

static void block_widened(const ox_kernel_ctx *c, ox_binary_fn *fn, bool mean, int64_t at, int64_t n) {
  const ox_convert *cv = ox_convert_select(c->isa);
  ox_binary_fn *divide = ox_binary_select(c->isa)->fn[OX_BIN_DIV][OX_F32];
  uint32_t t = c->out[0]->dtype;
  float sum[BLOCK], x[BLOCK], count = (float)c->n_in;
  uint64_t spare[BLOCK];
  cv->load_f32[t](operand(c, 0, 2, at, n, spare), 0, (size_t)n, sum);
  for (uint32_t i = 1; i < c->n_in; i++) {
    cv->load_f32[t](operand(c, i, 2, at, n, spare), 0, (size_t)n, x);
    fn(sum, x, sum, (size_t)n, 0);
  }
  if (mean) divide(sum, &count, sum, (size_t)n, OX_BIN_B_SCALAR);
  cv->store_f32[t](sum, c->out[0]->data, (size_t)at, (size_t)n, NULL);
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)scratch;
  const variadic_state *s = c->state;
  const ox_binary_table *table = ox_binary_select(c->isa);
  uint32_t t = c->out[0]->dtype;
  bool widen = (OX_BIT(t) & OX_T_FLOAT16S) != 0;
  size_t size = ox_dtype_bits(t) / 8;
  ox_binary_fn *fn = table->fn[s->fn][widen ? OX_F32 : t];
  float f32 = (float)c->n_in;
  double f64 = (double)c->n_in;
  int64_t begin, end;
  ox_tile_span(tiles, OX_TILE_MATH, ox_shape_count(&c->out[0]->shape), &begin, &end);
  bool rows = ((const variadic_prep *)c->prep)->rows && !s->mean;
  if (rows) pair_native(c, fn, size, begin, end);
  for (int64_t at = begin; at < end && !rows; at += BLOCK) {
    int64_t n = OX_MIN(end - at, BLOCK);
    if (widen) {
      block_widened(c, fn, s->mean, at, n);
      continue;
    }
    block_native(c, fn, size, at, n);
    char *y = (char *)c->out[0]->data + (size_t)at * size;
    if (s->mean) table->fn[OX_BIN_DIV][t](y, t == OX_F64 ? (void *)&f64 : (void *)&f32, y, (size_t)n, OX_BIN_B_SCALAR);
  }
  return NULL;
}

#define ROW(op, mask)                                                                                   \
  {                                                                                                     \
    OX_SCHEMA(.name = op, .since = 1, .types = {mask}, .vars = "T", .min_in = 1, .max_in = OX_VARIADIC, \
              .infer = infer),                                                                          \
        OX_KERNEL(.load = load, .prepare = prepare, .run = run)                                         \
  }

static const ox_op ops[] = {
    ROW("Max", OX_T_NUMBER),
    ROW("Mean", OX_T_FLOAT),
    ROW("Min", OX_T_NUMBER),
    ROW("Sum", OX_T_FLOAT),
};
const ox_op_set ox_ops_variadic = {ops, OX_COUNT(ops)};
