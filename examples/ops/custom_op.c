/* SPDX-License-Identifier: Apache-2.0
 * custom_op.c - an operator in a shared library; clone it for your own.
 *
 *   cc -std=c11 -O2 -shared -fPIC custom_op.c $(pkg-config --cflags onyx) -o libcustom_op.so
 *   onyx run model.onnx --plugin ./libcustom_op.so       or, in C: ox_env_load_plugin(env, "./libcustom_op.so")
 *
 * example.WeightedSum(weights, x_0, x_1 ...) = bias + sum of weights[i] * x_i over tensors of one shape. If weights are
 * left out, all are 1. It is summed in double and rounded once. */
#include <onyx/plugin.h>
#include <string.h>

/* ---- attributes: decoded once, when the model is loaded ---- */

typedef struct {
  float bias;
} sum_attrs;
static const ox_attr_def attr_rows[] = {OX_ATTR_FLOAT(sum_attrs, bias, 0)};

/* ---- types and shapes: at load, where dimensions may be unknown, and again for each shape that is run ---- */

static int may_be_equal(const ox_shape *a, const ox_shape *b) {
  for (int i = 0; a->rank == b->rank && i < a->rank; i++)
    if (a->dim[i] >= 0 && b->dim[i] >= 0 && a->dim[i] != b->dim[i]) return 0;
  return a->rank == b->rank || a->rank < 0 || b->rank < 0;
}

static ox_status *infer(ox_infer_ctx *c) {
  const ox_type *weights = c->n_in ? c->in[0] : NULL;
  if (c->n_in < 2 || !c->in[1]) return c->host->status_make(OX_INVALID_MODEL, "x_0 is missing");
  if (weights && (weights->shape.rank == 0 || weights->shape.rank > 1))
    return c->host->status_make(OX_INVALID_MODEL, "weights: wanted a list");
  if (weights && weights->shape.rank == 1 && weights->shape.dim[0] >= 0 && weights->shape.dim[0] != c->n_in - 1)
    return c->host->status_make(OX_SHAPE_MISMATCH, "weights: wanted one for each x");
  for (uint32_t i = 2; i < c->n_in; i++)
    if (!c->in[i] || !may_be_equal(&c->in[i]->shape, &c->in[1]->shape))
      return c->host->status_make(OX_SHAPE_MISMATCH, "all x: wanted the same shape");
  c->out[0].dtype = OX_F32;
  c->out[0].shape = c->in[1]->shape; /* what is unknown in it stays unknown */
  return NULL;
}

/* ---- the kernel ---- */

enum { TILE = 4096 }; /* elements: what one worker does at a time */

/* Shapes are known: how many tiles there are, and what memory each worker needs. */
static ox_status *prepare(ox_kernel_ctx *c) {
  int64_t n = 1;
  for (int i = 0; i < c->out[0]->shape.rank; i++) n *= c->out[0]->shape.dim[i];
  c->n_tiles[0] = (n + TILE - 1) / TILE;
  c->scratch_per_worker = TILE * sizeof(double);
  return NULL;
}

/* Tiles [begin, end), from any worker: no allocation, lock or thread in here. */
static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  const sum_attrs *a = c->attrs;
  const float *weights = c->in[0] ? c->in[0]->data : NULL;
  float *out = c->out[0]->data;
  double *sum = scratch;
  int64_t n = (int64_t)(c->out[0]->bytes / sizeof *out), first = tiles.begin * TILE, end = tiles.end * TILE;
  (void)stage; /* there is one */
  if (end > n) end = n;
  for (int64_t at = first; at < end; at += TILE) {
    int64_t m = end - at < TILE ? end - at : TILE;
    for (int64_t k = 0; k < m; k++) sum[k] = a->bias;
    for (uint32_t i = 1; i < c->n_in; i++) {
      const float *x = (const float *)c->in[i]->data + at;
      double weight = weights ? weights[i - 1] : 1;
      for (int64_t k = 0; k < m; k++) sum[k] += weight * x[k];
    }
    for (int64_t k = 0; k < m; k++) out[at + k] = (float)sum[k];
  }
  return NULL;
}

/* ---- the tables ---- */

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "WeightedSum", .domain = "example", .since = 1, .types = {OX_BIT(OX_F32)},
               .min_in = 0, /* what is below must be there: here the first may be left out */
               .max_in = OX_VARIADIC, OX_ATTRS(attr_rows), .attrs_bytes = sizeof(sum_attrs), .infer = infer),
     OX_KERNEL(.prepare = prepare, .run = run)},
};

static const ox_plugin plugin = {
    .struct_size = sizeof plugin, .abi_major = OX_EP_ABI_MAJOR, .name = "custom_op", .ops = ops, .n_ops = 1};

const ox_plugin *ox_plugin_query(uint32_t host_abi_major) { return host_abi_major == OX_EP_ABI_MAJOR ? &plugin : NULL; }
