/* SPDX-License-Identifier: Apache-2.0
 * ops/rnn/recurrent_project.c - see recurrent_project.h. */
#include "ops/rnn/recurrent_project.h"

void recurrent_project_plan(const ox_kernel_ctx *c, const recurrent_dims *d, recurrent_project *p) {
  const ox_gemm_variant *v = d->v[0];
  size_t rows = d->seq * d->batch, n = d->gates * d->hidden;
  uint32_t type = c->in[IN_X]->dtype;
  p->strassen = type == OX_F32 && !(c->isa & OX_PLAIN_SUMS) && ox_strassen_pays(v, c->isa, rows, n, d->input);
  if (p->strassen) {
    ox_strassen_plan_init(&p->z, v, c->isa, rows, n, d->input, OX_GEMM_PACKED);
    p->tiles = ox_strassen_tiles(&p->z), p->scratch = p->z.scratch, p->bytes = sizeof(ox_carried);
    return;
  }
  ox_gemm_plan_init(&p->g, v, rows, n, d->input, type, OX_F32, OX_GEMM_PACKED);
  p->tiles = ox_gemm_tiles(&p->g), p->scratch = p->g.scratch;
}

void recurrent_project_begin(const recurrent_project *p, void *shared) {
  if (p->strassen) ox_carried_begin(shared);
}

void recurrent_project_run(const ox_kernel_ctx *c, const recurrent_project *p, const recurrent_dims *d,
                           const recurrent_weights *w, void *shared, float *to, size_t tile, void *scratch) {
  ox_gemm_epi e = {.alpha = 1, .beta = 1, .term = {{w->bias, OX_F32, 0, 1}}};
  ox_gemm_io io = {.a = c->in[IN_X]->data,
                   .a_rs = (ptrdiff_t)d->input,
                   .a_ks = 1,
                   .b = w->w,
                   .c = to,
                   .c_rs = d->gates * d->hidden,
                   .epi = &e,
                   .stop = ox_ctx_stop(c)};
  if (p->strassen)
    ox_strassen_run(&p->z, &io, tile, shared, scratch);
  else
    ox_gemm_run(&p->g, &io, tile, scratch);
}
