/* SPDX-License-Identifier: Apache-2.0 */
#include "support/blocks_problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/levels.h"

const ox_bconv_form *blocks_form_called(const char *name) {
  size_t n;
  const ox_bconv_form *const *all = ox_bconv_forms(&n);
  for (size_t i = 0; i < n; i++)
    if (!strcmp(all[i]->name, name)) return all[i];
  fail_msg("no form %s", name);
  return NULL;
}

void blocks_problem_init(blocks_problem *p, int64_t batch, int64_t ic, int64_t oc, const int64_t *in,
                         const int64_t *kernel, const int64_t *dilation, const int64_t *pad) {
  memset(p, 0, sizeof *p);
  ox_conv_geom *g = &p->t.g;
  *g = (ox_conv_geom){.batch = batch, .groups = 1, .ic = ic, .oc = oc};
  for (int a = 0; a < OX_CONV_AXES; a++) {
    g->in[a] = in[a], g->out[a] = in[a] + 2 * pad[a] - (kernel[a] - 1) * dilation[a];
    g->stride[a] = 1, g->n_taps[a] = kernel[a], g->tap[a] = p->taps[a];
    for (int64_t k = 0; k < kernel[a]; k++) p->taps[a][k] = k * dilation[a] - pad[a];
  }
  const int64_t *out = g->out;
  p->n_x = (size_t)(batch * ic * in[0] * in[1] * in[2]), p->n_w = (size_t)(oc * ic * ox_conv_taps(g));
  p->n_y = (size_t)(batch * oc * out[0] * out[1] * out[2]);
  p->x = calloc(p->n_x, sizeof(float)), p->w = calloc(p->n_w, sizeof(float));
  p->y = malloc(p->n_y * sizeof(float) + OX_PAD_BYTES);
}

void blocks_problem_deinit(blocks_problem *p) { free(p->x), free(p->w), free(p->y); }

void blocks_run_form(blocks_problem *p, const char *name) {
  const ox_bconv_form *f = blocks_form_called(name);
  ox_bconv_plan *plan = calloc(1, f->plan_bytes);
  plan->form = f, plan->task = p->t;
  assert_true(f->plan(plan));
  float *w = malloc(f->weight_floats(&p->t) * sizeof *w + OX_PAD_BYTES);
  f->pack(&p->t, w, p->w, 0, f->weight_units(&p->t), NULL);
  void *scratch = malloc(plan->scratch_bytes + OX_PAD_BYTES), *shared = malloc(plan->shared_bytes + OX_PAD_BYTES);
  ox_conv_args a = {.x = p->x, .w = w, .y = p->y, .shared = shared};
  memset(p->y, 0xff, p->n_y * sizeof *p->y);
  for (uint32_t s = 0; s < plan->n_stages; s++) f->run(plan, &a, s, 0, plan->n_tiles[s], scratch);
  free(plan), free(w), free(scratch), free(shared);
}

double blocks_sum_at(const blocks_problem *p, size_t i, double *size) {
  const ox_conv_geom *g = &p->t.g;
  int64_t at = (int64_t)i, lane = at % OX_BLOCK, o[OX_CONV_AXES], k = 0;
  at /= OX_BLOCK;
  for (int a = OX_CONV_AXES; a-- > 0; at /= g->out[a]) o[a] = at % g->out[a];
  int64_t channel = at % (g->oc / OX_BLOCK) * OX_BLOCK + lane, n = at / (g->oc / OX_BLOCK);
  const float *w = p->w + channel * g->ic * ox_conv_taps(g);
  double sum = 0;
  *size = 0;
  for (int64_t c = 0; c < g->ic; c++)
    for (int64_t d = 0; d < g->n_taps[0]; d++)
      for (int64_t h = 0; h < g->n_taps[1]; h++)
        for (int64_t t = 0; t < g->n_taps[2]; t++, k++) {
          int64_t id = o[0] * g->stride[0] + g->tap[0][d], ih = o[1] * g->stride[1] + g->tap[1][h],
                  iw = o[2] * g->stride[2] + g->tap[2][t];
          if (id < 0 || ih < 0 || iw < 0 || id >= g->in[0] || ih >= g->in[1] || iw >= g->in[2]) continue;
          int64_t plane = (n * (g->ic / OX_BLOCK) + c / OX_BLOCK) * g->in[0] + id;
          double v = (double)p->x[((plane * g->in[1] + ih) * g->in[2] + iw) * OX_BLOCK + c % OX_BLOCK] * (double)w[k];
          sum += v, *size += fabs(v);
        }
  return sum;
}

double blocks_error_of(const blocks_problem *p) {
  double error = 0, largest = 0;
  for (size_t i = 0; i < p->n_y; i++) {
    double size, want = blocks_sum_at(p, i, &size), off = fabs((double)p->y[i] - want);
    if (!(off <= error)) error = off;
    if (size > largest) largest = size;
  }
  return error / largest;
}

bool blocks_is_as(double got, double want, double tolerance) {
  if (isnan(want)) return isnan(got);
  return got == want || fabs(got - want) <= tolerance;
}

float blocks_normal(uint32_t *seed) {
  float u = test_uniform(seed, 0, 1), v = test_uniform(seed, 0, 1);
  return sqrtf(-2 * logf(u + 1e-7f)) * cosf(6.2831853f * v);
}
