/* SPDX-License-Identifier: Apache-2.0
 * device/ops/fourier.c - DFT along the last axis of samples, and STFT, as products with the matrix of the transform,
 * which is computed once. Frames of STFT are overlapping rows of the signal; the window is folded into the matrix. */
#include <string.h>

#include "plugins/device/emit.h"
#include "plugins/device/kernels/fourier_params.h"

/* Longer transforms are faster as FFTs, and their matrix is large. Shorter ones are not worth a launch, and for them it
 * is noticeable that sums which should be 0 are exactly 0 only with an FFT. */
enum { LEAST_LENGTH = 16, MOST_LENGTH = 2048 };

static bool is_frames(const dev_node *n) { return strcmp(dev_node_op(n), "STFT") == 0; }
static bool has_in(const dev_node *n, size_t i) { return dev_in_count(n) > i && dev_in(n, i) != UINT32_MAX; }

typedef struct transform {
  int64_t length, taps, parts, bins, step;
  bool inverse;
} transform;

/* Reads the parameters of an STFT. False: some are unknown, or the kernels do not support them. */
static bool read_frames(const dev_node *n, transform *t) {
  int rank = dev_in_rank(n, 0);
  t->parts = rank == 3 ? dev_in_dim(n, 0, 2) : 1, t->inverse = false;
  if ((rank != 2 && rank != 3) || dev_in_ints(n, 1, &t->step, 1) != 1 || t->step < 1) return false;
  t->length = has_in(n, 2) ? dev_in_dim(n, 2, 0) : -1;
  if (has_in(n, 3) && dev_in_ints(n, 3, &t->length, 1) != 1) return false;
  t->taps = t->length;
  t->bins = dev_attr_int(n, "onesided", 1) ? t->length / 2 + 1 : t->length;
  return true;
}

static bool read_lines(const dev_node *n, transform *t) {
  int rank = dev_in_rank(n, 0);
  int64_t axis = dev_attr_int(n, "axis", dev_node_version(n) >= 20 ? -2 : 1);
  bool half = dev_attr_int(n, "onesided", 0) != 0;
  t->inverse = dev_attr_int(n, "inverse", 0) != 0, t->step = 0;
  if (rank < 2 || (has_in(n, 2) && dev_in_ints(n, 2, &axis, 1) != 1)) return false;
  if (dev_axis(axis, rank) != rank - 2 || (half && t->inverse)) return false;
  t->parts = dev_in_dim(n, 0, rank - 1), t->length = t->taps = dev_in_dim(n, 0, rank - 2);
  if (has_in(n, 1) && dev_in_ints(n, 1, &t->length, 1) != 1) return false;
  if (t->taps > t->length) t->taps = t->length;
  t->bins = half ? t->length / 2 + 1 : t->length;
  return true;
}

static bool read(const dev_node *n, transform *t) {
  bool known = is_frames(n) ? read_frames(n, t) : read_lines(n, t);
  return known && t->taps >= 1 && t->length >= LEAST_LENGTH && t->length <= MOST_LENGTH &&
         (t->parts == 1 || t->parts == 2);
}

static const char *takes(const dev_node *n) {
  transform t;
  const char *why = dev_takes_real(n, 2, OX_MAX_RANK);
  if (why) return why;
  if (dev_in_dtype(n, 0) != OX_F32) return REASON("float32", "{0}");
  return read(n, &t) ? NULL
                     : REASON("a length from 16 to 2048 that is known, along the last axis but that of the components",
                              "{inputs}");
}

static ox_status *make_matrix(dev_plan *p, const dev_node *n, const transform *t, dev_ref *out) {
  fourier_params q = {.n = (int)(t->taps * t->parts * t->bins * 2),
                      .length = (int)t->length,
                      .taps = (int)t->taps,
                      .parts = (int)t->parts,
                      .bins = (int)t->bins,
                      .inverse = t->inverse,
                      .has_window = is_frames(n) && has_in(n, 2)};
  dev_call c = {.source = "fourier",
                .kernel = "fourier",
                .dtype = OX_F32,
                .groups = {dev_groups(q.n, 256)},
                .items = 256,
                .n_buffers = 2,
                .buffers = {dev_value(p, q.has_window ? dev_in(n, 2) : UINT32_MAX)},
                .written = 1u << 1,
                DEV_PARAMS(q)};
  return dev_emit_made(p, &c, 1, (size_t)q.n * sizeof(float), 0, out);
}

static ox_status *emit(dev_plan *p, const dev_node *n) {
  const ox_shape *x = dev_shape(p, dev_in(n, 0)), *y = dev_shape(p, dev_out(n, 0));
  transform t;
  dev_product product;
  dev_tail then;
  memset(&product, 0, sizeof product);
  DEV_TRY(dev_take_tail(p, n, &then));
  if (!read(n, &t)) return dev_refuse(p, "it is not what it was when it was taken");
  if (is_frames(n) && has_in(n, 2) && dev_count(p, dev_in(n, 2)) != t.length)
    return dev_refuse(p, "a window of another length than the frames");
  if (dev_count(p, dev_out(n, 0)) == 0) return NULL;
  gemm_params *g = &product.g;
  for (int i = 0; i < GEMM_BATCHES; i++) g->batch[i] = 1;
  g->n = (int)(t.bins * 2), g->k = (int)(t.taps * t.parts);
  g->a_col = 1, g->b_row = g->n, g->b_col = 1;
  if (is_frames(n)) {
    g->m = (int)y->dim[1], g->a_row = (int)(t.step * t.parts);
    g->batch[GEMM_BATCHES - 1] = (int)x->dim[0], g->a_batch[GEMM_BATCHES - 1] = (int)(x->dim[1] * t.parts);
  } else {
    g->m = (int)dev_span(x, 0, x->rank - 2), g->a_row = (int)(x->dim[x->rank - 2] * t.parts);
  }
  DEV_TRY(make_matrix(p, n, &t, &product.b));
  product.dtype = OX_F32, product.a = dev_value(p, dev_in(n, 0)), product.c = dev_value(p, then.out);
  product.then = &then;
  return dev_emit_product(p, &product);
}

static const char *const names[] = {"DFT", "STFT", NULL};
DEV_OP(fourier) = {"", names, takes, emit};
