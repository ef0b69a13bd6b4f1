/* SPDX-License-Identifier: Apache-2.0
 * ops/einsum/sum.c - Einsum of one operand. Sums are those of ReduceSum. */
#include "ops/einsum/sum.h"

#include "base/cksize.h"
#include "kern/quant/convert.h"
#include "ops/shared/tiles.h"

static bool has(const ein_term *t, uint8_t label) {
  for (int d = 0; d < t->rank; d++)
    if (t->label[d] == label) return true;
  return false;
}

/* The labels of |in|, each once. */
static ein_term distinct(const ein_term *in) {
  ein_term t = {0, {0}};
  for (int d = 0; d < in->rank; d++)
    if (!has(&t, in->label[d])) t.label[t.rank++] = in->label[d];
  return t;
}

static size_t room(size_t *shared, int64_t count, size_t elem) {
  size_t at = *shared;
  *shared += OX_ROUND_UP((size_t)count * elem, (size_t)OX_ALIGN_BYTES);
  return at;
}

/* Plans the copy from the order of the labels |kept|, which are dense, to that of |out|. */
static void plan_order(ein_sum *s, const ein_term *kept, const ein_term *out, const int64_t *size) {
  int64_t stride[EIN_LABELS] = {0}, step = 1;
  for (int d = kept->rank - 1; d >= 0; d--) stride[kept->label[d]] = step, step *= size[kept->label[d]];
  for (int d = 0; d < out->rank; d++) {
    s->orders = s->orders || out->label[d] != kept->label[d];
    ein_copy_add(&s->ordered, size[out->label[d]], stride[out->label[d]]);
  }
}

static void plan_fold(ein_sum *s, const ein_term *all, const ein_term *out, const int64_t *size) {
  enum { WORK = 65536 };
  ox_shape shape = {.rank = all->rank};
  bool fold[OX_MAX_RANK] = {false};
  for (int d = 0; d < all->rank; d++) shape.dim[d] = size[all->label[d]], fold[d] = !has(out, all->label[d]);
  ox_fold_plan_init(&s->fold, &shape, fold);
  int64_t row = s->fold.columns ? OX_MAX(OX_MIN(s->fold.kept[0], OX_FOLD_BATCH), 1) : 1;
  s->per_tile = OX_MAX(WORK / OX_MAX(s->fold.length, 1) / row, 1) * row;
}

ox_status *ein_sum_plan(ox_kernel_ctx *c, ein_sum *s, const ein_view *v, const ein_term *in, const ein_term *out,
                        const int64_t *size) {
  size_t elem = ox_dtype_bits(c->in[0]->dtype) / 8, shared = 0;
  ein_term all = distinct(in), kept = {0, {0}};
  for (int d = 0; d < all.rank; d++)
    if (has(out, all.label[d])) kept.label[kept.rank++] = all.label[d];
  s->sums = kept.rank < all.rank;
  if (s->sums) {
    s->copies = all.rank < in->rank;
    for (int d = 0; d < all.rank; d++) ein_copy_add(&s->dense, size[all.label[d]], v->stride[all.label[d]]);
    plan_fold(s, &all, out, size);
    plan_order(s, &kept, out, size);
  } else {
    s->copies = true; /* straight to the result */
    for (int d = 0; d < out->rank; d++) ein_copy_add(&s->dense, size[out->label[d]], v->stride[out->label[d]]);
  }
  ein_copy_plan(&s->dense, elem), ein_copy_plan(&s->ordered, elem);
  if (s->sums && s->copies) s->at_dense = room(&shared, s->dense.count, elem);
  if (s->orders) s->at_sums = room(&shared, s->ordered.count, elem);
  c->shared_bytes = shared;
  c->n_stages = EIN_SUM_STAGES;
  c->n_tiles[0] = s->copies ? s->dense.tiles : 0;
  c->n_tiles[1] = s->sums ? ox_tile_count(s->fold.outputs, s->per_tile) : 0;
  c->n_tiles[2] = s->orders ? s->ordered.tiles : 0;
  c->form = s->sums ? "sums" : "copy";
  return NULL;
}

static void fold(const ox_kernel_ctx *c, const ein_sum *s, ox_range tiles) {
  const ox_convert *cv = ox_convert_select(c->isa);
  uint32_t t = c->in[0]->dtype;
  ox_fold_job j = {&s->fold, s->copies ? (char *)c->shared + s->at_dense : c->in[0]->data, t, c->isa};
  void *to = s->orders ? (char *)c->shared + s->at_sums : c->out[0]->data;
  ox_fold_acc acc[OX_FOLD_BATCH];
  int64_t begin, end;
  ox_tile_span(tiles, s->per_tile, s->fold.outputs, &begin, &end);
  for (; begin < end; begin += OX_FOLD_BATCH) {
    int64_t n = OX_MIN(end - begin, OX_FOLD_BATCH);
    ox_fold_run(&j, OX_FOLD_SUM, begin, n, 0, s->fold.length, NULL, acc);
    if (ox_dtype_is_float(t))
      cv->store_f64[t](&acc->f, to, (size_t)begin, (size_t)n, NULL);
    else
      cv->store_i64[t](&acc->i, to, (size_t)begin, (size_t)n, NULL);
  }
}

void ein_sum_run(const ox_kernel_ctx *c, const ein_sum *s, uint32_t stage, ox_range tiles) {
  char *shared = c->shared;
  if (stage == 0)
    ein_copy_run(&s->dense, c->isa, c->in[0]->data, s->sums ? shared + s->at_dense : c->out[0]->data, tiles);
  else if (stage == 1)
    fold(c, s, tiles);
  else
    ein_copy_run(&s->ordered, c->isa, shared + s->at_sums, c->out[0]->data, tiles);
}
