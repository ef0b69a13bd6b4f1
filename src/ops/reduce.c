/* SPDX-License-Identifier: Apache-2.0
 * ops/reduce.c - ReduceSum, Mean, Max, Min, Prod, L1, L2, LogSum, LogSumExp, SumSquare. Long reductions are divided
 * into segments by shape only, so that the result does not depend on the number of threads. */
#include <math.h>
#include <string.h>

#include "kern/quant/convert.h"
#include "kern/reduce/fold.h"
#include "ops/shared/tiles.h"

typedef struct {
  int64_t keepdims, noop_with_empty_axes;
  ox_ints axes;
} reduce_attrs;

static const ox_attr_def attr_axes[] = {OX_ATTR_INT(reduce_attrs, keepdims, 1),
                                        OX_ATTR_INTS_IN(reduce_attrs, axes, OX_AXIS_RANGE)};
static const ox_attr_def input_axes[] = {
    OX_ATTR_INT(reduce_attrs, keepdims, 1),
    OX_ATTR_INT(reduce_attrs, noop_with_empty_axes, 0),
};

typedef enum { SUM, MEAN, MAX, MIN, PROD, L1, L2, LOG_SUM, LOG_SUM_EXP, SUM_SQUARE } kind;

static const struct {
  const char *op;
  kind kind;
  ox_fold fold;
} kinds[] = {
    {"ReduceL1", L1, OX_FOLD_ABS},          {"ReduceL2", L2, OX_FOLD_SQUARE},
    {"ReduceLogSum", LOG_SUM, OX_FOLD_SUM}, {"ReduceLogSumExp", LOG_SUM_EXP, OX_FOLD_EXP},
    {"ReduceMax", MAX, OX_FOLD_MAX},        {"ReduceMean", MEAN, OX_FOLD_SUM},
    {"ReduceMin", MIN, OX_FOLD_MIN},        {"ReduceProd", PROD, OX_FOLD_PROD},
    {"ReduceSum", SUM, OX_FOLD_SUM},        {"ReduceSumSquare", SUM_SQUARE, OX_FOLD_SQUARE},
};

/* Marks the axes to fold. |n| < 0: axes not given. */
static ox_status *mark_axes(const reduce_attrs *a, int rank, const int64_t *axes, int n, bool *fold) {
  memset(fold, n <= 0 && !a->noop_with_empty_axes, OX_MAX_RANK * sizeof *fold);
  for (int i = 0; i < n; i++) {
    int k;
    if (!ox_axis_ok(axes[i], rank, &k))
      return ox_fail(OX_INVALID_MODEL, "axis %lld is outside rank %d", (long long)axes[i], rank);
    fold[k] = true;
  }
  return NULL;
}

static ox_shape reduced_shape(const ox_shape *in, const bool *fold, bool keep) {
  ox_shape s = {.rank = 0};
  for (int d = 0; d < in->rank; d++)
    if (!fold[d])
      s.dim[s.rank++] = in->dim[d];
    else if (keep)
      s.dim[s.rank++] = 1;
  return s;
}

static ox_status *infer(ox_infer_ctx *c) {
  const reduce_attrs *a = c->attrs;
  const ox_shape *in = &c->in[0]->shape;
  int64_t axes[OX_MAX_RANK];
  bool fold[OX_MAX_RANK];
  int n = a->axes.n ? (int)OX_MIN(a->axes.n, OX_MAX_RANK + 1u) : -1;
  if (n > OX_MAX_RANK) return ox_fail(OX_INVALID_MODEL, "%zu axes", a->axes.n);
  if (n > 0) memcpy(axes, a->axes.v, (size_t)n * sizeof *axes);
  if (ox_infer_has(c, 1)) {
    int known = ox_infer_ints(c, 1, axes, OX_MAX_RANK, &n);
    if (known < 0) return ox_fail(OX_INVALID_MODEL, "axes must be a list of at most %d integers", OX_MAX_RANK);
    if (!known) { /* with keepdims the rank is known all the same */
      ox_shape s = ox_shape_unknown();
      if (a->keepdims && in->rank >= 0) {
        s.rank = in->rank;
        for (int d = 0; d < s.rank; d++) s.dim[d] = in->dim[d] == 1 ? 1 : -1;
      }
      ox_infer_out(c, 0, c->in[0]->dtype, &s);
      return NULL;
    }
  }
  if (in->rank < 0) {
    ox_infer_out(c, 0, c->in[0]->dtype, NULL);
    return NULL;
  }
  OX_TRY(mark_axes(a, in->rank, axes, n, fold));
  ox_shape s = reduced_shape(in, fold, a->keepdims != 0);
  ox_infer_out(c, 0, c->in[0]->dtype, &s);
  return NULL;
}

typedef struct {
  kind kind;
  ox_fold fold;
} reduce_state;

static ox_status *load(ox_load_ctx *c) {
  reduce_state *s = OX_LOAD_NEW(c, reduce_state);
  if (!s) return ox_oom();
  size_t i = 0;
  while (i < OX_COUNT(kinds) && strcmp(kinds[i].op, c->op) != 0) i++;
  if (i == OX_COUNT(kinds)) return ox_fail(OX_FAIL, "%s is not a reduction", c->op);
  s->kind = kinds[i].kind, s->fold = kinds[i].fold;
  c->state = s;
  return NULL;
}

typedef struct {
  ox_fold_plan plan;
  int64_t per_tile, out_tiles; /* outputs per tile, tiles over the outputs */
  int64_t segment, segments;   /* folded elements per segment */
} reduce_prep;

/* The axes, from attribute or input. False: the input's content is not there yet. */
static ox_status *find_axes(const ox_kernel_ctx *c, bool *fold, bool *known) {
  const reduce_attrs *a = c->attrs;
  const int64_t *axes = a->axes.v;
  int64_t n = a->axes.n ? (int64_t)a->axes.n : -1;
  *known = true;
  if (ox_ctx_has(c, 1)) {
    n = ox_shape_count(&c->in[1]->shape), axes = c->in[1]->data;
    if (n > 0 && !axes) *known = false;
    if (n > OX_MAX_RANK) return ox_fail(OX_INVALID_MODEL, "%lld axes", (long long)n);
  }
  return *known ? mark_axes(a, c->in[0]->shape.rank, axes, (int)n, fold) : NULL;
}

/* Columns are read in whole rows, so those of one row are in one tile, as far as a batch holds them. */
static void cut(reduce_prep *p) {
  enum {
    WORK = 65536,
    OUTPUTS = 4096,
    ENOUGH = 32,
    MOST = 64
  }; /* OUTPUTS: of a tile, at most, as each has a cost of its own */
  int64_t length = OX_MAX(p->plan.length, 1), outputs = p->plan.outputs;
  int64_t row = p->plan.columns ? OX_MAX(OX_MIN(p->plan.kept[0], OX_FOLD_BATCH), 1) : 1;
  p->per_tile = OX_MAX(OX_MIN(WORK / length, OUTPUTS) / row, 1) * row;
  p->out_tiles = ox_tile_count(outputs, p->per_tile);
  p->segment = length, p->segments = 1;
  if (p->out_tiles >= ENOUGH) return;
  int64_t least = WORK / row;
  p->segment = OX_MAX(least, OX_CEIL_DIV(length, MOST));
  p->segments = OX_CEIL_DIV(length, p->segment);
}

static ox_status *prepare(ox_kernel_ctx *c) {
  bool fold[OX_MAX_RANK], known;
  OX_TRY(find_axes(c, fold, &known));
  if (!known) return ox_ctx_plan(c, 1, 0);
  const reduce_state *s = c->state;
  reduce_prep *p = ox_ctx_alloc(c, sizeof *p);
  if (!p) return ox_oom();
  ox_fold_plan_init(&p->plan, &c->in[0]->shape, fold);
  cut(p);
  if (s->kind == LOG_SUM_EXP && !ox_dtype_is_float(c->in[0]->dtype)) p->segment = p->plan.length, p->segments = 1;
  c->prep = p;
  c->n_stages = p->segments > 1 ? 2 : 1;
  c->n_tiles[0] = p->out_tiles * p->segments;
  if (p->segments > 1) {
    c->n_tiles[1] = ox_tile_count(p->plan.outputs, OX_TILE_SLOW);
    size_t each = s->fold == OX_FOLD_EXP ? 2 * sizeof(ox_fold_acc) : sizeof(ox_fold_acc);
    c->shared_bytes = (size_t)(p->segments * p->plan.outputs) * each;
  }
  return NULL;
}

static ox_fold_job job_of(const ox_kernel_ctx *c, const ox_fold_plan *p) {
  return (ox_fold_job){p, c->in[0]->data, c->in[0]->dtype, c->isa};
}

/* Accumulators of a batch. LogSumExp of floats keeps each output's maximum in |shift|; of integers it is computed in
 * double by the same way after a cast, see int_lse. */
static void fold_batch(const ox_kernel_ctx *c, const ox_fold_plan *p, int64_t out, int64_t n, int64_t begin,
                       int64_t end, double *shift, ox_fold_acc *acc) {
  const reduce_state *s = c->state;
  ox_fold_job j = job_of(c, p);
  if (s->fold != OX_FOLD_EXP) {
    ox_fold_run(&j, s->fold, out, n, begin, end, NULL, acc);
    return;
  }
  ox_fold_run(&j, OX_FOLD_MAX, out, n, begin, end, NULL, acc);
  for (int64_t k = 0; k < n; k++) shift[k] = isinf(acc[k].f) ? 0 : acc[k].f; /* inf - inf must not become NaN */
  ox_fold_run(&j, OX_FOLD_EXP, out, n, begin, end, shift, acc);
}

/* Fours, which compilers turn into vectors. */
#define BY_ALL(name, op)                                                                          \
  static void name(ox_fold_acc *acc, int64_t n, double by) {                                      \
    int64_t i = 0;                                                                                \
    for (; i + 4 <= n; i += 4) {                                                                  \
      double v[4] = {acc[i].f op by, acc[i + 1].f op by, acc[i + 2].f op by, acc[i + 3].f op by}; \
      memcpy(acc + i, v, sizeof v);                                                               \
    }                                                                                             \
    for (; i < n; i++) acc[i].f = acc[i].f op by;                                                 \
  }
BY_ALL(divide, /)
BY_ALL(multiply, *)

static void finish_f64(kind k, uint32_t type, ox_fold_acc *acc, int64_t n, const double *shift, int64_t length) {
  switch (k) {
    case MEAN: /* of no elements: undefined in the standard, 0 in ONNX Runtime */
      if (length && type == OX_F64)
        divide(acc, n, (double)length);
      else if (length) /* will be rounded to fewer bits */
        multiply(acc, n, 1 / (double)length);
      else
        memset(acc, 0, (size_t)n * sizeof *acc);
      break;
    case L2:
      for (int64_t i = 0; i < n; i++) acc[i].f = sqrt(acc[i].f);
      break;
    case LOG_SUM:
      for (int64_t i = 0; i < n; i++) acc[i].f = log(acc[i].f);
      break;
    case LOG_SUM_EXP:
      for (int64_t i = 0; i < n; i++) acc[i].f = log(acc[i].f) + shift[i];
      break;
    default:
      break;
  }
}

static int64_t finish_i64(kind k, int64_t v, int64_t length, bool is_unsigned) {
  switch (k) {
    case MEAN:
      return length == 0 ? 0 : is_unsigned ? (int64_t)((uint64_t)v / (uint64_t)length) : v / length;
    case L2:
      return ox_f64_to_i64(sqrt((double)(uint64_t)v));
    case LOG_SUM:
      return ox_f64_to_i64(log(is_unsigned ? (double)(uint64_t)v : (double)v));
    default:
      return v;
  }
}

static void finish(const ox_kernel_ctx *c, int64_t length, int64_t out, int64_t n, const double *shift,
                   ox_fold_acc *acc) {
  const reduce_state *s = c->state;
  const ox_convert *cv = ox_convert_select(c->isa);
  uint32_t t = c->out[0]->dtype;
  if (ox_dtype_is_float(t)) {
    finish_f64(s->kind, t, acc, n, shift, length);
    cv->store_f64[t](&acc->f, c->out[0]->data, (size_t)out, (size_t)n, NULL);
  } else {
    bool is_done = s->kind != MEAN && s->kind != L2 && s->kind != LOG_SUM;
    for (int64_t k = 0; k < n && !is_done; k++)
      acc[k].i = finish_i64(s->kind, acc[k].i, length, !ox_dtype_is_signed(t));
    cv->store_i64[t](&acc->i, c->out[0]->data, (size_t)out, (size_t)n, NULL);
  }
}

/* Integer LogSumExp, element by element: it exists only because old versions' type lists have integers. */
static void int_lse(const ox_kernel_ctx *c, const ox_fold_plan *p, int64_t out, int64_t n) {
  const ox_convert *cv = ox_convert_select(c->isa);
  ox_fold_job j = job_of(c, p);
  uint32_t t = c->in[0]->dtype;
  for (int64_t k = 0; k < n; k++) {
    ox_fold_acc best, one;
    double high, sum = 0, v;
    ox_fold_run(&j, OX_FOLD_MAX, out + k, 1, 0, p->length, NULL, &best);
    high = t == OX_U64 ? (double)(uint64_t)best.i : (double)best.i;
    for (int64_t r = 0; r < p->length; r++) {
      ox_fold_run(&j, OX_FOLD_SUM, out + k, 1, r, r + 1, NULL, &one);
      v = t == OX_U64 ? (double)(uint64_t)one.i : (double)one.i;
      sum += exp(v - high);
    }
    one.i = ox_f64_to_i64(log(sum) + high);
    cv->store_i64[t](&one.i, c->out[0]->data, (size_t)(out + k), 1, NULL);
  }
}

/* Are the outputs the elements? A sum of floats is not: it makes 0 of -0. */
static bool only_copies(const ox_kernel_ctx *c, const ox_fold_plan *p) {
  kind k = ((const reduce_state *)c->state)->kind;
  bool exact = k == MAX || k == MIN || ((k == SUM || k == MEAN || k == PROD) && !ox_dtype_is_float(c->in[0]->dtype));
  return p->length == 1 && exact && c->in[0]->dtype != OX_BOOL;
}

static void run_outputs(const ox_kernel_ctx *c, const ox_fold_plan *p, int64_t out, int64_t end) {
  const reduce_state *s = c->state;
  if (only_copies(c, p)) {
    size_t size = ox_dtype_bits(c->in[0]->dtype) / 8, at = (size_t)out * size;
    if (out < end) memcpy((char *)c->out[0]->data + at, (const char *)c->in[0]->data + at, (size_t)(end - out) * size);
    return;
  }
  ox_fold_acc acc[OX_FOLD_BATCH];
  double shift[OX_FOLD_BATCH];
  for (; out < end; out += OX_FOLD_BATCH) {
    int64_t n = OX_MIN(end - out, OX_FOLD_BATCH);
    for (int64_t k = 0; s->fold == OX_FOLD_EXP && k < n; k++) shift[k] = 0;
    if (s->kind == LOG_SUM_EXP && !ox_dtype_is_float(c->in[0]->dtype)) {
      int_lse(c, p, out, n);
      continue;
    }
    fold_batch(c, p, out, n, 0, p->length, shift, acc);
    finish(c, p->length, out, n, shift, acc);
  }
}

/* One segment of the folded elements into |shared|: accumulators, behind them the shifts. */
static void run_segment(const ox_kernel_ctx *c, const reduce_prep *p, int64_t seg, int64_t out, int64_t end) {
  const reduce_state *s = c->state;
  ox_fold_acc *acc = (ox_fold_acc *)c->shared + seg * p->plan.outputs;
  double *shift = NULL;
  if (s->fold == OX_FOLD_EXP) shift = (double *)((ox_fold_acc *)c->shared + (p->segments + seg) * p->plan.outputs);
  int64_t first = seg * p->segment, last = OX_MIN(first + p->segment, p->plan.length);
  for (; out < end; out += OX_FOLD_BATCH)
    fold_batch(c, &p->plan, out, OX_MIN(end - out, OX_FOLD_BATCH), first, last, shift ? shift + out : NULL, acc + out);
}

static void join_segments(const ox_kernel_ctx *c, const reduce_prep *p, int64_t out, int64_t end) {
  const reduce_state *s = c->state;
  const ox_fold_acc *parts = c->shared;
  int64_t step = p->plan.outputs, n;
  for (; out < end; out += n) {
    ox_fold_acc acc[OX_FOLD_BATCH];
    n = OX_MIN(end - out, OX_FOLD_BATCH);
    memcpy(acc, parts + out, (size_t)n * sizeof *acc);
    for (int64_t g = 1; g < p->segments; g++)
      ox_fold_join_all(c->isa, s->fold, c->in[0]->dtype, acc, parts + g * step + out, n);
    finish(c, p->plan.length, out, n, NULL, acc);
  }
}

/* The same of sums of exponentials, each around a shift of its own. */
static void join_shifted(const ox_kernel_ctx *c, const reduce_prep *p, int64_t out, int64_t end) {
  const ox_fold_acc *parts = c->shared;
  const double *shifts = (const double *)(parts + p->segments * p->plan.outputs);
  int64_t step = p->plan.outputs;
  for (; out < end; out++) {
    ox_fold_acc acc = parts[out];
    double shift = shifts[out];
    for (int64_t g = 1; g < p->segments; g++) {
      double other = shifts[g * step + out], b = parts[g * step + out].f;
      /* a part with only -inf has the sum 0, and its shift is meaningless */
      double high = acc.f == 0 ? other : b == 0 ? shift : OX_MAX(shift, other);
      acc.f = acc.f * exp(shift - high) + b * exp(other - high), shift = high;
    }
    finish(c, p->plan.length, out, 1, &shift, &acc);
  }
}

/* Axes that only the run knows. */
static ox_status *run_unplanned(const ox_kernel_ctx *c) {
  const reduce_attrs *a = c->attrs;
  bool fold[OX_MAX_RANK], known;
  ox_fold_plan p;
  OX_TRY(find_axes(c, fold, &known));
  ox_shape out = reduced_shape(&c->in[0]->shape, fold, a->keepdims != 0);
  ox_fold_plan_init(&p, &c->in[0]->shape, fold);
  if (!ox_ctx_output(c, 0, &out)) return ox_oom();
  run_outputs(c, &p, 0, p.outputs);
  return NULL;
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)scratch;
  const reduce_prep *p = c->prep;
  int64_t begin, end;
  if (!p) return run_unplanned(c);
  if (stage == 1) {
    ox_tile_span(tiles, OX_TILE_SLOW, p->plan.outputs, &begin, &end);
    (((const reduce_state *)c->state)->fold == OX_FOLD_EXP ? join_shifted : join_segments)(c, p, begin, end);
    return NULL;
  }
  for (int64_t t = tiles.begin; t < tiles.end; t++) {
    int64_t at = t % p->out_tiles;
    ox_tile_span((ox_range){at, at + 1}, p->per_tile, p->plan.outputs, &begin, &end);
    if (p->segments > 1)
      run_segment(c, p, t / p->out_tiles, begin, end);
    else
      run_outputs(c, &p->plan, begin, end);
  }
  return NULL;
}

enum { T_AXES = OX_BIT(OX_I64) };
#define ROW(op, ver, most, table)                                                                                      \
  {                                                                                                                    \
    OX_SCHEMA(.name = op, .since = ver, .types = {OX_T_NUMBER | OX_BIT(OX_BOOL), T_AXES}, .min_in = 1, .max_in = most, \
              .attrs_bytes = sizeof(reduce_attrs), OX_ATTRS(table), .value_in = 2, .infer = infer),                    \
        OX_KERNEL(.load = load, .prepare = prepare, .run = run)                                                        \
  }
#define REDUCE(op, moved) ROW(op, 1, 1, attr_axes), ROW(op, moved, 2, input_axes)

static const ox_op ops[] = {
    REDUCE("ReduceL1", 18),  REDUCE("ReduceL2", 18),        REDUCE("ReduceLogSum", 18), REDUCE("ReduceLogSumExp", 18),
    REDUCE("ReduceMax", 18), REDUCE("ReduceMean", 18),      REDUCE("ReduceMin", 18),    REDUCE("ReduceProd", 18),
    REDUCE("ReduceSum", 13), REDUCE("ReduceSumSquare", 18),
};
const ox_op_set ox_ops_reduce = {ops, OX_COUNT(ops)};
