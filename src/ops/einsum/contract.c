/* SPDX-License-Identifier: Apache-2.0
 * ops/einsum/contract.c - sorts labels into batch, rows, columns and sum; merges what lies together. */
#include "ops/einsum/contract.h"

#include <string.h>

#include "base/cksize.h"

void ein_copy_add(ein_copy *c, int64_t dim, int64_t stride) {
  if (c->r.rank == 0) c->count = 1;
  c->r.dim[c->r.rank] = dim, c->r.is[c->r.rank++] = stride;
  if (!ox_mul_i64_ok(c->count, dim, &c->count)) c->count = -1;
}

void ein_copy_plan(ein_copy *c, size_t elem) {
  if (c->r.rank == 0) c->count = 1;
  int64_t step = 1;
  for (int d = c->r.rank - 1; d >= 0; d--) c->r.os[d] = step, step *= c->r.dim[d];
  ox_move_init(&c->m, (int64_t)elem, &c->r);
  c->tiles = c->count ? ox_move_tiles(c->m.total_bytes, c->m.units) : 0;
}

void ein_copy_run(const ein_copy *c, ox_isa isa, const void *from, void *to, ox_range tiles) {
  ox_range u = ox_units_of(tiles, c->tiles, c->m.units);
  ox_move_run(&c->m, isa, from, to, u.begin, u.end);
}

/* Labels of one role, in order. */
typedef struct group {
  int n;
  uint8_t label[EIN_LABELS];
} group;

static int64_t group_size(const group *g, const int64_t *size) {
  int64_t n = 1;
  for (int i = 0; i < g->n; i++)
    if (!ox_mul_i64_ok(n, size[g->label[i]], &n)) return -1;
  return n;
}

/* Whether the labels form one dimension in |v|; its stride. */
static bool merges(const group *g, const int64_t *size, const ein_view *v, int64_t *stride) {
  int64_t want = 0;
  bool any = false;
  *stride = 0;
  for (int i = g->n - 1; i >= 0; i--) {
    int l = g->label[i];
    if (size[l] == 1) continue;
    if (!any)
      *stride = v->stride[l], any = true;
    else if (v->stride[l] != want)
      return false;
    want = v->stride[l] * size[l];
  }
  return true;
}

static void sort_by_stride(group *g, const ein_view *v, const ein_view *w) {
  for (int i = 1; i < g->n; i++)
    for (int j = i; j > 0; j--) {
      uint8_t x = g->label[j - 1], y = g->label[j];
      int64_t sx = v->stride[x] ? v->stride[x] : w->stride[x], sy = v->stride[y] ? v->stride[y] : w->stride[y];
      if (sx >= sy) break;
      g->label[j - 1] = y, g->label[j] = x;
    }
}

/* Roles of all labels of a and b. */
static void sort_labels(const ein_view *a, const ein_view *b, const bool *keep, const ein_term *order, group *batch,
                        group *m, group *n, group *k) {
  uint8_t all[EIN_LABELS];
  bool placed[EIN_LABELS] = {false};
  int count = 0;
  for (int i = 0; order && i < order->rank; i++) all[count++] = order->label[i], placed[order->label[i]] = true;
  for (int l = 0; l < EIN_LABELS; l++)
    if (!placed[l]) all[count++] = (uint8_t)l;
  for (int i = 0; i < count; i++) {
    int l = all[i];
    if (!a->has[l] && !b->has[l]) continue;
    group *g = !keep[l] ? k : a->has[l] && b->has[l] ? batch : a->has[l] ? m : n;
    g->label[g->n++] = (uint8_t)l;
  }
  sort_by_stride(k, a, b);
  if (!order) sort_by_stride(m, a, b), sort_by_stride(n, b, a);
}

static int place_in(const ein_term *order, uint8_t label) {
  for (int i = 0; i < order->rank; i++)
    if (order->label[i] == label) return i;
  return order->rank;
}

/* If the row labels do not form a single dimension in A: the outer ones that prevent it become batch labels, if enough
 * rows are left for a product, so that nothing needs to be copied. |order|: the result's. */
static void give_to_batch(group *batch, group *rows, const int64_t *size, const ein_view *v, const ein_term *order) {
  enum { ENOUGH = 8 };
  group last = *rows;
  int64_t unused, given = 0;
  while (last.n > 0 && !merges(&last, size, v, &unused)) {
    for (int i = 1; i < last.n; i++) last.label[i - 1] = last.label[i];
    last.n--, given++;
  }
  if (given == 0 || group_size(&last, size) < ENOUGH || batch->n + given > OX_MAX_RANK) return;
  for (int64_t g = 0; g < given; g++) {
    int at = batch->n++;
    for (; at > 0 && place_in(order, batch->label[at - 1]) > place_in(order, rows->label[g]); at--)
      batch->label[at] = batch->label[at - 1];
    batch->label[at] = rows->label[g];
  }
  *rows = last;
}

/* The operand in the order of |parts|, dense: the copy, and the view that results. Labels of |full| get their whole
 * size even where the operand broadcasts. */
static void plan_copy(ein_copy *c, ein_view *v, const int64_t *size, const group *const *parts, const group *full) {
  ein_view dense = {{false}, {0}};
  int64_t step = 1;
  for (int p = 2; p >= 0; p--)
    for (int i = parts[p]->n - 1; i >= 0; i--) {
      int l = parts[p]->label[i];
      if (parts[p] != full && !v->has[l]) continue;
      dense.has[l] = true;
      if (size[l] != 1 && (v->stride[l] || parts[p] == full)) dense.stride[l] = step, step *= size[l];
    }
  c->count = 1;
  for (int p = 0; p < 3; p++)
    for (int i = 0; i < parts[p]->n; i++) {
      int l = parts[p]->label[i];
      if (dense.stride[l]) ein_copy_add(c, size[l], v->stride[l]);
    }
  *v = dense;
}

static size_t reserve(size_t *shared, int64_t count, size_t elem) {
  size_t at = *shared;
  *shared += OX_ROUND_UP((size_t)count * elem, (size_t)OX_ALIGN_BYTES);
  return at;
}

/* The dense result [batch, m, n]: in the wanted order already, or by a copy. */
static void plan_result(ein_contract *e, const int64_t *size, const group *const *parts, const ein_term *order,
                        ein_view *result) {
  int64_t step = 1;
  *result = (ein_view){{false}, {0}};
  for (int p = 2; p >= 0; p--)
    for (int i = parts[p]->n - 1; i >= 0; i--) {
      int l = parts[p]->label[i];
      result->has[l] = true, result->stride[l] = size[l] == 1 ? 0 : step, step *= size[l];
    }
  int64_t want = 1;
  for (int i = order ? order->rank - 1 : -1; i >= 0; i--) {
    int l = order->label[i];
    if (size[l] != 1 && result->stride[l] != want) e->copy_out = true;
    want *= size[l];
  }
  for (int i = 0; e->copy_out && i < order->rank; i++)
    ein_copy_add(&e->out, size[order->label[i]], result->stride[order->label[i]]);
}

static ox_status *plan_product(ox_kernel_ctx *c, ein_contract *e, const ein_view *a, const ein_view *b,
                               const int64_t *size, const group *const parts[4]) {
  const group *batch = parts[0], *m = parts[1], *n = parts[2], *k = parts[3];
  ox_product *p = &e->p;
  int64_t rs, ka, kb, ns, sizes[3] = {group_size(m, size), group_size(n, size), group_size(k, size)};
  merges(m, size, a, &rs), merges(k, size, a, &ka), merges(k, size, b, &kb), merges(n, size, b, &ns);
  if (batch->n > OX_MAX_RANK) return ox_fail(OX_LIMIT, "Einsum: too many batch labels");
  if (sizes[0] < 0 || sizes[1] < 0 || sizes[2] < 0) return ox_fail(OX_LIMIT, "Einsum: too large");
  p->type = c->in[0]->dtype, p->in_b = 1, p->epi.alpha = p->epi.beta = 1;
  p->m = (size_t)sizes[0], p->n = (size_t)sizes[1], p->k = (size_t)sizes[2];
  p->a_rs = rs, p->a_ks = ka, p->b_ks = kb, p->b_ns = p->n == 1 ? 1 : ns;
  p->has_row = p->has_col = true, p->rank = batch->n;
  for (int i = 0; i < batch->n; i++) {
    int l = batch->label[i];
    p->batch[i] = size[l], p->a_batch[i] = size[l] == 1 ? 0 : a->stride[l],
    p->b_batch[i] = size[l] == 1 ? 0 : b->stride[l];
  }
  e->sub = *c;
  e->sub.n_in = 2, e->sub.n_out = 1, e->sub.shared_bytes = 0, e->sub.scratch_per_worker = 0;
  return ox_product_plan(&e->sub, p, NULL);
}

ox_status *ein_contract_plan(ox_kernel_ctx *c, ein_contract *e, const ein_view *a, const ein_view *b,
                             const int64_t *size, const bool *keep, const ein_term *order, ein_view *result,
                             size_t *shared) {
  group batch = {0}, m = {0}, n = {0}, k = {0};
  ein_view va = *a, vb = *b;
  size_t elem = ox_dtype_bits(c->in[0]->dtype) / 8;
  int64_t unused;
  sort_labels(a, b, keep, order, &batch, &m, &n, &k);
  if (order && merges(&k, size, &va, &unused)) give_to_batch(&batch, &m, size, &va, order);
  const group *const a_parts[3] = {&batch, &m, &k}, *const b_parts[3] = {&batch, &k, &n},
                     *const out[3] = {&batch, &m, &n};
  bool one_k[2] = {merges(&k, size, &va, &unused), merges(&k, size, &vb, &unused)};
  e->copy[0] = !one_k[0] || !merges(&m, size, &va, &unused);
  e->copy[1] = !one_k[1] || !merges(&n, size, &vb, &unused);
  if (e->copy[0]) plan_copy(&e->in[0], &va, size, a_parts, one_k[0] ? NULL : &k);
  if (e->copy[1]) plan_copy(&e->in[1], &vb, size, b_parts, one_k[1] ? NULL : &k);
  for (int i = 0; i < 2; i++)
    if (e->copy[i]) {
      if (e->in[i].count < 0) return ox_fail(OX_LIMIT, "Einsum: too large");
      ein_copy_plan(&e->in[i], elem);
      e->at_in[i] = reserve(shared, e->in[i].count, elem);
    }
  OX_TRY(plan_product(c, e, &va, &vb, size, (const group *const[4]){&batch, &m, &n, &k}));
  e->at_product = *shared;
  *shared += OX_ROUND_UP(e->sub.shared_bytes, (size_t)OX_ALIGN_BYTES);
  plan_result(e, size, out, order, result);
  if (e->copy_out) ein_copy_plan(&e->out, elem);
  if (!order || e->copy_out) e->at_out = reserve(shared, group_size(&batch, size) * (int64_t)(e->p.m * e->p.n), elem);
  return NULL;
}

int64_t ein_contract_tiles(const ein_contract *e, uint32_t stage) {
  if (stage < 2) return e->copy[stage] ? e->in[stage].tiles : 0;
  if (stage < 4) return stage - 2 < e->sub.n_stages ? e->sub.n_tiles[stage - 2] : 0;
  return e->copy_out ? e->out.tiles : 0;
}

ox_status *ein_contract_run(const ox_kernel_ctx *c, const ein_contract *e, const void *a, const void *b, void *out,
                            uint32_t stage, ox_range tiles, void *scratch) {
  char *shared = c->shared;
  if (stage < 2) {
    ein_copy_run(&e->in[stage], c->isa, stage ? b : a, shared + e->at_in[stage], tiles);
    return NULL;
  }
  if (stage == 4) {
    ein_copy_run(&e->out, c->isa, shared + e->at_out, out, tiles);
    return NULL;
  }
  ox_tensor ta = {.data = e->copy[0] ? shared + e->at_in[0] : (void *)(uintptr_t)a};
  ox_tensor tb = {.data = e->copy[1] ? shared + e->at_in[1] : (void *)(uintptr_t)b};
  ox_tensor tc = {.data = e->copy_out ? shared + e->at_out : out};
  ox_kernel_ctx sub = e->sub;
  sub.in = (const ox_tensor *const[2]){&ta, &tb}, sub.out = (ox_tensor *const[1]){&tc};
  sub.shared = shared + e->at_product;
  return ox_product_run(&sub, &e->p, stage - 2, tiles, scratch);
}
