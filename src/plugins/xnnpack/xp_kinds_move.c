/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/xp_kinds_move.c - steps that move elements. */
#include <string.h>

#include "xp_kinds.h"
#include "xp_matrix.h"

/* ---- between layouts, and between signed and unsigned bytes ---- */

static const char *same_shape(const xp_step *s, const xp_dims *const *in, xp_dims *out) {
  (void)s;
  *out = *in[0];
  return NULL;
}

/* flags: the bits in which the two byte types differ. axis: 1 moves C to the end, -1 moves it back, 0 neither. */
static void relayout_run(const xp_step *s, const xp_call *c) {
  const xp_dims *x = c->in_dims[0];
  size_t bytes = xp_type_bytes(c->in_tensor[0]->type), all = xp_elements(x);
  if (!s->axis) {
    xp_copy(c->ep, c->in[0], c->out, all * bytes, (uint8_t)s->flags);
    return;
  }
  size_t channels = (size_t)x->d[1], area = all / ((size_t)x->d[0] * channels);
  if (s->axis > 0)
    xp_transpose(c->ep, c->in[0], c->out, (size_t)x->d[0], channels, area, bytes, (uint8_t)s->flags);
  else
    xp_transpose(c->ep, c->in[0], c->out, (size_t)x->d[0], area, channels, bytes, (uint8_t)s->flags);
}

/* ---- Concat and Split ---- */

static const char *concat_shape(const xp_step *s, const xp_dims *const *in, xp_dims *out) {
  *out = *in[0];
  for (uint32_t i = 1; i < s->n_in; i++)
    for (int d = 0; d < out->rank; d++)
      if (d == s->axis) {
        if (__builtin_add_overflow(out->d[d], in[i]->d[d], &out->d[d])) return "too large";
      } else if (in[i]->d[d] != out->d[d]) {
        return "the shapes differ beside the axis";
      }
  return NULL;
}

/* The bytes of one contiguous run from |axis| on, and the number of such runs. */
static size_t run_bytes(const xp_dims *logical, bool last, int axis, size_t bytes, size_t *out_count) {
  const xp_dims p = xp_physical(logical, last);
  size_t n = bytes, count = 1;
  for (int d = xp_physical_axis(p.rank, axis, last); d < p.rank; d++) n *= (size_t)p.d[d];
  for (int d = 0; d < xp_physical_axis(p.rank, axis, last); d++) count *= (size_t)p.d[d];
  *out_count = count;
  return n;
}

/* A strided copy: runs of |bytes|, each side with a stride of its own. */
typedef struct runs {
  const char *in;
  char *out;
  size_t bytes, in_step, out_step;
} runs;

static ox_status *copy_runs(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  const runs *r = ctx;
  (void)worker;
  for (size_t i = (size_t)begin; i < (size_t)end; i++)
    memcpy(r->out + i * r->out_step, r->in + i * r->in_step, r->bytes);
  return NULL;
}

static void concat_run(const xp_step *s, const xp_call *c) {
  size_t bytes = xp_type_bytes(c->in_tensor[0]->type), count, at = 0;
  bool last = c->in_tensor[0]->last;
  size_t whole = run_bytes(c->out_dims, last, s->axis, bytes, &count);
  for (uint32_t i = 0; i < s->n_in; i++) {
    size_t part = run_bytes(c->in_dims[i], last, s->axis, bytes, &count);
    runs r = {c->in[i], (char *)c->out + at, part, part, whole};
    if (part) xp_loop(c->ep, count, count * part, copy_runs, &r);
    at += part;
  }
}

/* Part |which| of |axis|, of |channels_in| parts. flags 1: equal parts must divide the axis (Split before version 18).
 */
static const char *slice_bounds(const xp_step *s, const xp_dims *x, int64_t *out_begin, int64_t *out_n) {
  int64_t n = x->d[s->axis], parts = s->channels_in, sum = 0;
  if (!s->parts) {
    int64_t each = (n + parts - 1) / parts;
    *out_begin = each * s->which < n ? each * s->which : n;
    *out_n = n - *out_begin < each ? n - *out_begin : each;
    return s->flags && n % parts ? "the dimension is not divided by the number of parts" : NULL;
  }
  *out_begin = 0;
  for (int64_t i = 0; i < parts; i++) {
    if (i == s->which) *out_begin = sum;
    if (__builtin_add_overflow(sum, s->parts[i], &sum)) return "too large";
  }
  *out_n = s->parts[s->which];
  return sum == n ? NULL : "the parts do not add up to the dimension";
}

static const char *slice_shape(const xp_step *s, const xp_dims *const *in, xp_dims *out) {
  int64_t begin;
  *out = *in[0];
  return slice_bounds(s, in[0], &begin, &out->d[s->axis]);
}

static void slice_run(const xp_step *s, const xp_call *c) {
  size_t bytes = xp_type_bytes(c->in_tensor[0]->type), count;
  bool last = c->in_tensor[0]->last;
  int64_t begin, n;
  (void)slice_bounds(s, c->in_dims[0], &begin, &n); /* slice_shape found it valid */
  size_t whole = run_bytes(c->in_dims[0], last, s->axis, bytes, &count);
  size_t part = run_bytes(c->out_dims, last, s->axis, bytes, &count), unit = part / (size_t)n;
  runs r = {(const char *)c->in[0] + (size_t)begin * unit, c->out, part, whole, part};
  xp_loop(c->ep, count, count * part, copy_runs, &r);
}

/* ---- Transpose and DepthToSpace ---- */

enum { MOST_LOOPS = XP_MOST_RANK };

/* Fills a dense output from an input with these strides, in elements. */
typedef struct gather {
  const char *in;
  char *out;
  size_t bytes, n[MOST_LOOPS], stride[MOST_LOOPS];
  int n_loops;
} gather;

static void gather_row(const gather *g, const char *in, char *out) {
  size_t n = g->n[g->n_loops - 1], step = g->stride[g->n_loops - 1];
  if (step == 1) {
    memcpy(out, in, n * g->bytes);
  } else if (g->bytes == 4) {
    const uint32_t *from = (const void *)in;
    uint32_t *to = (void *)out;
    for (size_t i = 0; i < n; i++) to[i] = from[i * step];
  } else {
    for (size_t i = 0; i < n; i++) out[i] = in[i * step];
  }
}

static ox_status *gather_rows(void *ctx, int64_t begin, int64_t end, uint32_t worker) {
  const gather *g = ctx;
  size_t row = g->n[g->n_loops - 1] * g->bytes;
  (void)worker;
  for (size_t i = (size_t)begin; i < (size_t)end; i++) {
    size_t rest = i, from = 0;
    for (int d = g->n_loops - 2; d >= 0; d--) from += rest % g->n[d] * g->stride[d], rest /= g->n[d];
    gather_row(g, g->in + from * g->bytes, g->out + i * row);
  }
  return NULL;
}

static void gather_run(const gather *given, const ox_ep *ep) {
  gather g = *given;
  g.n_loops = 0;
  for (int d = 0; d < given->n_loops; d++) { /* drops loops of one iteration and merges neighbours that continue */
    if (given->n[d] == 1) continue;
    int k = g.n_loops - 1;
    if (k >= 0 && g.stride[k] == given->n[d] * given->stride[d])
      g.n[k] *= given->n[d], g.stride[k] = given->stride[d];
    else
      g.n[g.n_loops] = given->n[d], g.stride[g.n_loops++] = given->stride[d];
  }
  if (!g.n_loops) g.n[0] = g.stride[0] = 1, g.n_loops = 1;
  size_t rows = 1;
  for (int d = 0; d < g.n_loops - 1; d++) rows *= g.n[d];
  xp_loop(ep, rows, rows * g.n[g.n_loops - 1] * g.bytes, gather_rows, &g);
}

/* The stride of each ONNX axis, in elements. */
static void strides_of(const xp_call *c, size_t out[XP_MOST_RANK]) {
  const xp_dims *x = c->in_dims[0];
  bool last = c->in_tensor[0]->last;
  const xp_dims p = xp_physical(x, last);
  for (int d = 0; d < x->rank; d++) {
    out[d] = 1;
    for (int k = xp_physical_axis(x->rank, d, last) + 1; k < p.rank; k++) out[d] *= (size_t)p.d[k];
  }
}

static const char *transpose_shape(const xp_step *s, const xp_dims *const *in, xp_dims *out) {
  *out = *in[0];
  for (int d = 0; d < out->rank; d++) out->d[d] = in[0]->d[s->sizes[d]];
  return NULL;
}

static void transpose_run(const xp_step *s, const xp_call *c) {
  gather g = {
      .in = c->in[0], .out = c->out, .bytes = xp_type_bytes(c->in_tensor[0]->type), .n_loops = c->in_dims[0]->rank};
  size_t stride[XP_MOST_RANK];
  strides_of(c, stride);
  for (int d = 0; d < g.n_loops; d++) g.n[d] = (size_t)c->out_dims->d[d], g.stride[d] = stride[s->sizes[d]];
  if (g.n_loops == 0) g.n_loops = 1, g.n[0] = g.stride[0] = 1;
  gather_run(&g, c->ep);
}

/* sizes[0]: the block size; which: 0 DCR, 1 CRD. Input and output are channels last. */
static const char *depth_shape(const xp_step *s, const xp_dims *const *in, xp_dims *out) {
  int64_t b = s->sizes[0];
  *out = *in[0];
  if (out->d[1] % (b * b)) return "the channels are not divided by the square of the block";
  out->d[1] /= b * b;
  return __builtin_mul_overflow(out->d[2], b, &out->d[2]) || __builtin_mul_overflow(out->d[3], b, &out->d[3])
             ? "too large"
             : NULL;
}

static void depth_run(const xp_step *s, const xp_call *c) {
  const xp_dims *x = c->in_dims[0];
  size_t b = (size_t)s->sizes[0], depth = (size_t)c->out_dims->d[1], all = (size_t)x->d[1];
  size_t h = (size_t)x->d[2], w = (size_t)x->d[3];
  size_t block = s->which ? 1 : depth, channel = s->which ? b * b : 1; /* strides within a block, between channels */
  gather g = {.in = c->in[0],
              .out = c->out,
              .bytes = xp_type_bytes(c->in_tensor[0]->type),
              .n_loops = 5,
              .n = {(size_t)x->d[0] * h, b, w, b, depth},
              .stride = {w * all, b * block, all, block, channel}};
  gather_run(&g, c->ep);
}

const xp_kind xp_kind_relayout = {.shape = same_shape, .run = relayout_run};
const xp_kind xp_kind_concat = {.shape = concat_shape, .run = concat_run};
const xp_kind xp_kind_slice = {.shape = slice_shape, .run = slice_run};
const xp_kind xp_kind_transpose = {.shape = transpose_shape, .run = transpose_run};
const xp_kind xp_kind_depth_to_space = {.shape = depth_shape, .run = depth_run};
