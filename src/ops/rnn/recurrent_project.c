/* SPDX-License-Identifier: Apache-2.0
 * ops/rnn/recurrent_project.c - see recurrent_project.h. */
#include "ops/rnn/recurrent_project.h"

static bool splits(const ox_kernel_ctx *c, const ox_gemm_variant *v, size_t rows, size_t n, size_t k) {
  if (!ox_split_select(c->isa) || v->nr % OX_SPLIT_SIDE) return false;
  return ox_split_pays(rows, n, k, ox_split_terms(c->isa), true, true);
}

static recurrent_way choose(const ox_kernel_ctx *c, const ox_gemm_variant *v, size_t rows, size_t n, size_t k) {
  if (c->in[IN_X]->dtype != OX_F32) return PROJECT_PLAIN;
  if (splits(c, v, rows, n, k)) return PROJECT_SPLIT;
  return ox_strassen_pays(v, c->isa, rows, n, k) ? PROJECT_STRASSEN : PROJECT_PLAIN;
}

void recurrent_project_plan(const ox_kernel_ctx *c, const recurrent_dims *d, recurrent_project *p) {
  const ox_gemm_variant *v = d->v[0];
  size_t rows = d->seq * d->batch, n = d->gates * d->hidden, k = d->input;
  p->way = choose(c, v, rows, n, k), p->bytes = p->way == PROJECT_PLAIN ? 0 : sizeof(ox_carried);
  switch (p->way) {
    case PROJECT_SPLIT:
      ox_split_plan_init(&p->s, ox_split_select(c->isa), ox_split_terms(c->isa), rows, n, k, true);
      p->tiles = ox_split_tiles(&p->s), p->scratch = p->s.scratch;
      break;
    case PROJECT_STRASSEN:
      ox_gemm_plan_init(&p->g, v, rows, n, k, OX_F32, OX_F32, OX_GEMM_PACKED);
      ox_strassen_plan_init(&p->z, &p->g, c->isa);
      p->tiles = ox_strassen_tiles(&p->z), p->scratch = p->z.scratch;
      break;
    case PROJECT_PLAIN:
      ox_gemm_plan_init(&p->g, v, rows, n, k, c->in[IN_X]->dtype, OX_F32, OX_GEMM_PACKED);
      p->tiles = ox_gemm_tiles(&p->g), p->scratch = p->g.scratch;
      break;
  }
}

const char *recurrent_project_form(const recurrent_project *p, bool all) {
  static const char *const split[3][2] = {
      {"amx one product, steps of 12 rows", "amx one product, steps of all rows"},
      {"amx three products, steps of 12 rows", "amx three products, steps of all rows"},
      {"amx six products, steps of 12 rows", "amx six products, steps of all rows"}};
  static const char *const vectors[2][2] = {{"steps of 12 rows", "steps of all rows"},
                                            {"strassen, steps of 12 rows", "strassen, steps of all rows"}};
  return p->way == PROJECT_SPLIT ? split[p->s.terms - 1][all] : vectors[p->way == PROJECT_STRASSEN][all];
}

void recurrent_project_begin(const recurrent_project *p, void *shared) {
  if (p->bytes) ox_carried_begin(shared);
}

void recurrent_project_run(const ox_kernel_ctx *c, const recurrent_project *p, const recurrent_dims *d,
                           const recurrent_weights *w, void *shared, float *to, ox_range tiles, void *scratch) {
  const ptrdiff_t k = (ptrdiff_t)d->input;
  const size_t rs = recurrent_gates_rs(d);
  const void *x = c->in[IN_X]->data;
  ox_gemm_epi e = {.alpha = 1, .beta = 1, .term = {{w->bias, OX_F32, 0, 1}}};
  if (p->way == PROJECT_SPLIT) {
    ox_split_io io = {.a = x, .a_rs = k, .a_ks = 1, .b = w->w, .c = to, .c_rs = rs, .epi = &e, .stop = ox_ctx_stop(c)};
    io.panel = d->v[0]->nr, io.panel_floats = ox_gemm_panel_bytes(d->v[0], d->input) / sizeof(float);
    io.b_ks = (ptrdiff_t)io.panel, io.b_ns = 1;
    ox_split_run(&p->s, &io, (size_t)tiles.begin, (size_t)tiles.end, shared, scratch);
    return;
  }
  ox_gemm_io io = {.a = x, .a_rs = k, .a_ks = 1, .b = w->w, .c = to, .c_rs = rs, .epi = &e, .stop = ox_ctx_stop(c)};
  for (int64_t i = tiles.begin; i < tiles.end; i++)
    if (p->way == PROJECT_STRASSEN)
      ox_strassen_run(&p->z, &io, (size_t)i, shared, scratch);
    else
      ox_gemm_run(&p->g, &io, (size_t)i, scratch);
}
