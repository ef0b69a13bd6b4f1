/* SPDX-License-Identifier: Apache-2.0
 * ops/non_max_suppression.c - NonMaxSuppression: per image and class, boxes in descending order of score that
 * overlap no better one. */
#include <math.h>
#include <string.h>

#include "base/cksize.h"
#include "kern/nms/nms_kept.h"
#include "kern/quant/convert.h"
#include "kern/reduce/reduce.h"
#include "ops/shared/check.h"

enum { BOXES, SCORES, MOST, IOU, SCORE };
enum { SIDES = 5 /* numbers of a box that is kept */, FEW = 128 };
typedef struct nms_attrs {
  int64_t center_point_box;
} nms_attrs;
static const ox_attr_def attr_rows[] = {OX_ATTR_INT(nms_attrs, center_point_box, 0)};

static ox_status *infer(ox_infer_ctx *c) {
  const ox_shape *b = &c->in[BOXES]->shape, *s = &c->in[SCORES]->shape;
  ox_shape y = {.rank = 2, .dim = {-1, 3}};
  if (b->rank >= 0 && (b->rank != 3 || (b->dim[2] >= 0 && b->dim[2] != 4)))
    return ox_fail(OX_SHAPE_MISMATCH, "boxes must be [images, boxes, 4]");
  if (s->rank >= 0 && s->rank != 3) return ox_fail(OX_SHAPE_MISMATCH, "scores must be [images, classes, boxes]");
  if (b->rank == 3 && s->rank == 3 &&
      ((b->dim[0] >= 0 && s->dim[0] >= 0 && b->dim[0] != s->dim[0]) ||
       (b->dim[1] >= 0 && s->dim[2] >= 0 && b->dim[1] != s->dim[2])))
    return ox_fail(OX_SHAPE_MISMATCH, "boxes and scores disagree");
  ox_infer_out(c, 0, OX_I64, &y);
  return NULL;
}

static bool is_center(const ox_kernel_ctx *c) { return ((const nms_attrs *)c->attrs)->center_point_box != 0; }

static ox_box box_read(const float *p, bool center) {
  float y1 = p[0], x1 = p[1], y2 = p[2], x2 = p[3];
  if (center) x1 = p[0] - p[2] / 2, x2 = p[0] + p[2] / 2, y1 = p[1] - p[3] / 2, y2 = p[1] + p[3] / 2;
  ox_box b = {y1 < y2 ? y1 : y2, x1 < x2 ? x1 : x2, y1 < y2 ? y2 : y1, x1 < x2 ? x2 : x1, 0};
  b.area = (b.y2 - b.y1) * (b.x2 - b.x1);
  return b;
}

static double scalar(const ox_kernel_ctx *c, uint32_t i, double absent) {
  double v = absent;
  if (ox_ctx_has(c, i) && ox_shape_count(&c->in[i]->shape) > 0)
    ox_convert_select(c->isa)->load_f64[c->in[i]->dtype](c->in[i]->data, 0, 1, &v);
  return v;
}

typedef struct work {
  ox_candidate *order;
  ox_box *boxes;
  ox_kept kept;  /* of one class */
  int64_t *rows; /* selected so far, three numbers each */
  int64_t n_rows;
} work;

/* Those of |n| scores that are above |least|. Most are not: vectors skip them. */
static int64_t gather(const ox_kernel_ctx *c, const float *scores, int64_t n, float least, ox_candidate *to) {
  enum { NEAR = 16 };
  const ox_reduce_table *t = ox_reduce_select(c->isa);
  int64_t count = 0, i = 0;
  while ((i += (int64_t)t->next_beyond(scores + i, (size_t)(n - i), least, false)) < n)
    for (int64_t end = OX_MIN(i + NEAR, n); i < end; i++) {
      to[count] = ox_candidate_of(scores[i], (uint32_t)i);
      count += scores[i] > least;
    }
  return count;
}

/* Opens the list of selected boxes; for so few candidates that one pass over vectors compares all, without stripes. */
static void open_kept(const ox_kernel_ctx *c, work *w, const float *boxes, int64_t count, int64_t most) {
  bool few = OX_MIN(count, most) <= FEW, center = is_center(c);
  for (int64_t i = 0; i < count && !few; i++) {
    size_t at = ox_candidate_box(w->order[i]);
    w->boxes[at] = box_read(boxes + at * 4, center);
  }
  ox_kept_open(&w->kept, w->boxes, w->order, few ? 0 : (size_t)count);
}

static void one_class(const ox_kernel_ctx *c, work *w, int64_t image, int64_t class, int64_t most, float iou,
                      float least) {
  int64_t n = c->in[BOXES]->shape.dim[1], classes = c->in[SCORES]->shape.dim[1], count = 0, kept = 0;
  const float *scores = (const float *)c->in[SCORES]->data + (image * classes + class) * n;
  const float *boxes = (const float *)c->in[BOXES]->data + image * n * 4;
  bool any = ox_ctx_has(c, SCORE), center = is_center(c);
  if (any)
    count = gather(c, scores, n, least, w->order);
  else
    for (; count < n; count++) w->order[count] = ox_candidate_of(scores[count], (uint32_t)count);
  open_kept(c, w, boxes, count, most);
  ox_candidates_heap(w->order, (size_t)count);
  for (; count > 0 && kept < most; count--) { /* candidates are sorted only as far as they are needed */
    uint32_t at = ox_candidate_box(ox_candidates_pop(w->order, (size_t)count));
    ox_box b = box_read(boxes + at * (size_t)4, center);
    if (ox_ctx_stopped_each(c, count, 8)) return;
    if (ox_kept_overlap(&w->kept, &b, iou)) continue;
    ox_kept_add(&w->kept, &b), kept++;
    int64_t *row = w->rows + 3 * w->n_rows++;
    row[0] = image, row[1] = class, row[2] = (int64_t)at;
  }
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)stage, (void)tiles, (void)scratch;
  const ox_shape *b = &c->in[BOXES]->shape, *s = &c->in[SCORES]->shape;
  double most_in = scalar(c, MOST, 0), iou = scalar(c, IOU, 0), least = scalar(c, SCORE, 0);
  if (!(iou >= 0 && iou <= 1))
    return ox_fail(OX_INVALID_ARGUMENT, "NonMaxSuppression: iou_threshold is %g, wanted 0..1", iou);
  int64_t n = b->dim[1], most = most_in > (double)n ? n : OX_MAX(ox_i64_of(most_in), 0);
  if (n > UINT32_MAX) return ox_fail(OX_LIMIT, "NonMaxSuppression: %lld boxes", (long long)n);
  size_t rows;
  work w = {.n_rows = 0};
  if (!ox_mul_ok((size_t)(s->dim[0] * s->dim[1]), (size_t)most, &rows) || !ox_mul_ok(rows, 3 * sizeof(int64_t), &rows))
    return ox_oom();
  w.order = ox_ctx_run_alloc(c, (size_t)n * sizeof *w.order + 1),
  w.boxes = ox_ctx_run_alloc(c, (size_t)n * sizeof *w.boxes + 1);
  float *sides = ox_ctx_run_alloc(c, (size_t)n * SIDES * sizeof *sides + 1);
  w.rows = ox_ctx_run_alloc(c, rows + 1);
  if (!w.order || !w.boxes || !sides || !w.rows) return ox_oom();
  w.kept.v = ox_nms_select(c->isa);
  w.kept.rows = (ox_box_rows){sides, sides + n, sides + 2 * n, sides + 3 * n, sides + 4 * n};
  for (int64_t image = 0; image < b->dim[0]; image++)
    for (int64_t k = 0; k < s->dim[1] && !ox_ctx_stopped(c); k++)
      one_class(c, &w, image, k, most, (float)iou, (float)least);
  ox_shape y = {.rank = 2, .dim = {w.n_rows, 3}};
  void *out = ox_ctx_output(c, 0, &y);
  if (!out && w.n_rows) return ox_oom();
  if (w.n_rows) memcpy(out, w.rows, (size_t)w.n_rows * 3 * sizeof(int64_t));
  return NULL;
}

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "NonMaxSuppression", .since = 10,
               .types = {OX_BIT(OX_F32), OX_BIT(OX_F32), OX_BIT(OX_I64), OX_BIT(OX_F32), OX_BIT(OX_F32)}, .min_in = 2,
               .max_in = 5, OX_ATTRS(attr_rows), .attrs_bytes = sizeof(nms_attrs), .infer = infer),
     OX_KERNEL(.run = run)},
};
const ox_op_set ox_ops_non_max_suppression = {ops, OX_COUNT(ops)};
