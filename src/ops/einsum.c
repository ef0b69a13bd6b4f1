/* SPDX-License-Identifier: Apache-2.0
 * ops/einsum.c - Einsum of any number of operands: a chain of contractions from left to right, each a batched matrix
 * product. All but the last run in one tile; the last, which usually is the only one, in parallel. */
#include <string.h>

#include "ops/einsum/multiply.h"
#include "ops/einsum/sum.h"

typedef struct einsum_attrs {
  const char *equation;
} einsum_attrs;

static const ox_attr_def attrs[] = {
    OX_ATTR_ROW_(einsum_attrs, equation, "equation", OX_ATTR_STRING_KIND, true, OX_NO_FIELD, .i = 0)};

/* Sizes of all labels; a dimension of 1 broadcasts. Unknown (-1) and symbols only if nothing better is known. */
static ox_status *sizes_of(const ein_equation *e, const ox_shape *const *shapes, int64_t *size) {
  for (int l = 0; l < EIN_LABELS; l++) size[l] = 1;
  for (int i = 0; i < e->n_terms; i++)
    for (int d = 0; d < e->term[i].rank; d++) {
      int64_t *s = &size[e->term[i].label[d]], n = shapes[i]->dim[d];
      if (n == 1 || n == *s) continue;
      if (*s == 1)
        *s = n;
      else if (*s < 0)
        *s = n >= 0 ? n : *s < -1 ? *s : n;
      else if (n >= 0)
        return ox_fail(OX_SHAPE_MISMATCH, "Einsum: operand %d has dimension %lld where another has %lld", i,
                       (long long)n, (long long)*s);
    }
  return NULL;
}

static ox_status *infer(ox_infer_ctx *c) {
  const einsum_attrs *a = c->attrs;
  const ox_shape *shapes[EIN_TERMS];
  int ranks[EIN_TERMS];
  int64_t size[EIN_LABELS];
  ein_equation e;
  ox_infer_out(c, 0, c->in[0]->dtype, NULL);
  if (c->n_in > EIN_TERMS) return ox_fail(OX_LIMIT, "Einsum: more than %d operands", (int)EIN_TERMS);
  for (uint32_t i = 0; i < c->n_in; i++) {
    if (!c->in[i]) return ox_fail(OX_INVALID_MODEL, "Einsum: operand %u is missing", i);
    shapes[i] = &c->in[i]->shape, ranks[i] = shapes[i]->rank;
    if (ranks[i] < 0) return NULL;
  }
  OX_TRY(ein_parse(a->equation, (int)c->n_in, ranks, &e));
  OX_TRY(sizes_of(&e, shapes, size));
  ox_shape out = {.rank = e.out.rank};
  for (int d = 0; d < out.rank; d++) out.dim[d] = size[e.out.label[d]];
  ox_infer_out(c, 0, c->in[0]->dtype, &out);
  return NULL;
}

typedef struct einsum_prep {
  int n_steps; /* contractions; 0: |multiply| where it has elements, else of one operand, |sum| */
  ein_contract *step;
  ein_sum sum;
  ein_multiply multiply;
} einsum_prep;

static ein_view view_of(const ein_term *t, const ox_shape *s, const int64_t *size) {
  ein_view v = {{false}, {0}};
  int64_t strides[OX_MAX_RANK];
  ox_shape_strides(s, strides);
  for (int d = 0; d < t->rank; d++) { /* a label twice in one operand: its diagonal */
    int l = t->label[d];
    v.has[l] = true;
    if (s->dim[d] != 1 || size[l] == 1) v.stride[l] += size[l] == 1 ? 0 : strides[d];
  }
  return v;
}

static ox_status *plan_steps(ox_kernel_ctx *c, einsum_prep *p, const ein_equation *e, const int64_t *size) {
  ein_view now = view_of(&e->term[0], &c->in[0]->shape, size), next = {{false}, {0}};
  size_t shared = 0;
  for (int i = 0; i < p->n_steps; i++) {
    bool keep[EIN_LABELS] = {false};
    for (int d = 0; d < e->out.rank; d++) keep[e->out.label[d]] = true;
    for (int t = i + 2; t < e->n_terms; t++)
      for (int d = 0; d < e->term[t].rank; d++) keep[e->term[t].label[d]] = true;
    next = view_of(&e->term[i + 1], &c->in[i + 1]->shape, size);
    const ein_term *order = i + 1 == p->n_steps ? &e->out : NULL;
    OX_TRY(ein_contract_plan(c, &p->step[i], &now, &next, size, keep, order, &now, &shared));
    c->scratch_per_worker = OX_MAX(c->scratch_per_worker, p->step[i].sub.scratch_per_worker);
  }
  c->shared_bytes = shared;
  c->n_stages = 1 + EIN_STAGES;
  c->n_tiles[0] = p->n_steps > 1;
  c->form = p->n_steps > 1 ? "several products" : p->step[0].sub.form;
  for (uint32_t s = 0; s < EIN_STAGES; s++) c->n_tiles[1 + s] = ein_contract_tiles(&p->step[p->n_steps - 1], s);
  return NULL;
}

static ox_status *prepare(ox_kernel_ctx *c) {
  const einsum_attrs *a = c->attrs;
  const ox_shape *shapes[EIN_TERMS];
  int ranks[EIN_TERMS];
  int64_t size[EIN_LABELS];
  ein_equation e;
  einsum_prep *p = ox_ctx_alloc(c, sizeof *p);
  if (!p) return ox_oom();
  c->prep = p;
  for (uint32_t i = 0; i < c->n_in; i++) shapes[i] = &c->in[i]->shape, ranks[i] = shapes[i]->rank;
  OX_TRY(ein_parse(a->equation, (int)c->n_in, ranks, &e));
  OX_TRY(sizes_of(&e, shapes, size));
  if (e.n_terms == 1) {
    ein_view v = view_of(&e.term[0], shapes[0], size);
    return ein_sum_plan(c, &p->sum, &v, &e.term[0], &e.out, size);
  }
  if (e.n_terms == 2) {
    ein_view v = view_of(&e.term[0], shapes[0], size), w = view_of(&e.term[1], shapes[1], size);
    if (ein_multiply_plan(c, &p->multiply, &v, &w, &e.out, size)) return NULL;
    p->multiply.count = 0;
  }
  p->n_steps = e.n_terms - 1;
  if (!(p->step = ox_ctx_alloc(c, (size_t)p->n_steps * sizeof *p->step))) return ox_oom();
  return plan_steps(c, p, &e, size);
}

static const void *left(const ox_kernel_ctx *c, const einsum_prep *p, int step) {
  return step == 0 ? c->in[0]->data : (const char *)c->shared + p->step[step - 1].at_out;
}
static const void *right(const ox_kernel_ctx *c, int step) { return c->in[step + 1]->data; }

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  const einsum_prep *p = c->prep;
  int last = p->n_steps - 1;
  if (p->multiply.count > 0) {
    ein_multiply_run(c, &p->multiply, tiles);
    return NULL;
  }
  if (p->n_steps == 0) {
    ein_sum_run(c, &p->sum, stage, tiles);
    return NULL;
  }
  if (stage > 0)
    return ein_contract_run(c, &p->step[last], left(c, p, last), right(c, last), c->out[0]->data, stage - 1, tiles,
                            scratch);
  for (int i = 0; i < last; i++)
    for (uint32_t s = 0; s < EIN_STAGES; s++) {
      ox_range all = {0, ein_contract_tiles(&p->step[i], s)};
      if (all.end > 0)
        OX_TRY(ein_contract_run(c, &p->step[i], left(c, p, i), right(c, i), (char *)c->shared + p->step[i].at_out, s,
                                all, scratch));
    }
  return NULL;
}

static double flops(const ox_kernel_ctx *c) {
  const einsum_prep *p = c->prep;
  double n = 0;
  for (int i = 0; i < p->n_steps; i++) {
    const ox_product *q = &p->step[i].p;
    n += 2.0 * (double)q->n_batch * (double)q->m * (double)q->n * (double)q->k;
  }
  return n;
}

static const ox_op ops[] = {
    {OX_SCHEMA(.name = "Einsum", .since = 12, .types = {OX_T_FLOAT | OX_T_INT}, .vars = "T", .min_in = 1,
               .max_in = OX_VARIADIC, OX_ATTRS(attrs), .attrs_bytes = sizeof(einsum_attrs), .infer = infer),
     OX_KERNEL(.prepare = prepare, .run = run, .flops = flops)},
};
const ox_op_set ox_ops_einsum = {ops, OX_COUNT(ops)};
