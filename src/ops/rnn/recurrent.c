/* SPDX-License-Identifier: Apache-2.0
 * ops/rnn/recurrent.c - attributes, sizes and packed weights of recurrent cells. */
#include "ops/rnn/recurrent.h"

#include <math.h>
#include <string.h>

#include "kern/simd/f32_scalar.h"

int recurrent_cell(const char *op) {
  return strcmp(op, "LSTM") == 0 ? CELL_LSTM : strcmp(op, "GRU") == 0 ? CELL_GRU : CELL_RNN;
}

bool recurrent_backwards(const recurrent_attrs *a, size_t dir) {
  return dir == 1 || strcmp(a->direction, "reverse") == 0;
}

/* How many of alpha and beta a function has: the lists hold values only for functions with parameters. */
static int params_of(uint32_t kind) {
  switch (kind) {
    case OX_ACT_AFFINE:
    case OX_ACT_SCALED_TANH:
    case OX_ACT_HARD_SIGMOID:
      return 2;
    case OX_ACT_LEAKY_RELU:
    case OX_ACT_THRESHOLDED_RELU:
    case OX_ACT_ELU:
      return 1;
    default:
      return 0;
  }
}

ox_status *recurrent_activations(int cell, const recurrent_attrs *a, recurrent_dims *d) {
  static const char *const defaults[3][3] = {{"Tanh"}, {"Sigmoid", "Tanh"}, {"Sigmoid", "Tanh", "Tanh"}};
  size_t per = (size_t)cell + 1, dirs = strcmp(a->direction, "bidirectional") == 0 ? 2 : 1, alpha = 0, beta = 0;
  if (a->activations.n && a->activations.n != per * dirs)
    return ox_fail(OX_INVALID_MODEL, "%zu activations, wanted %zu", a->activations.n, per * dirs);
  for (size_t i = 0; i < per * dirs; i++) {
    ox_act *act = &d->act[i / per][i % per];
    char name[32] = "";
    if (a->activations.n) {
      ox_str s = a->activations.v[i];
      memcpy(name, s.p, OX_MIN(s.n, sizeof name - 1));
    } else {
      memcpy(name, defaults[cell][i % per], strlen(defaults[cell][i % per]) + 1);
    }
    if (!ox_act_parse(name, NULL, 0, act)) return ox_fail(OX_INVALID_MODEL, "no activation is called '%s'", name);
    int n = params_of(act->kind);
    if (n >= 1 && alpha < a->activation_alpha.n) act->a = a->activation_alpha.v[alpha++];
    if (n >= 2 && beta < a->activation_beta.n) act->b = a->activation_beta.v[beta++];
  }
  return NULL;
}

ox_status *recurrent_dims_of(int cell, const recurrent_attrs *a, const ox_shape *x, const ox_shape *r,
                             recurrent_dims *d) {
  *d = (recurrent_dims){.cell = cell, .layout = a->layout != 0};
  d->gates = d->cell == CELL_LSTM ? 4 : d->cell == CELL_GRU ? 3 : 1;
  d->dirs = (size_t)r->dim[0], d->hidden = (size_t)r->dim[2];
  d->seq = (size_t)x->dim[d->layout], d->batch = (size_t)x->dim[!d->layout], d->input = (size_t)x->dim[2];
  d->first = (d->cell == CELL_GRU ? 2 : d->gates) * d->hidden, d->second = d->cell == CELL_GRU ? d->hidden : 0;
  d->clip = a->has_clip && a->clip > 0 ? a->clip : INFINITY;
  return recurrent_activations(d->cell, a, d);
}

static size_t take(char **at, size_t bytes, void **out) {
  bytes = OX_ROUND_UP(bytes, (size_t)OX_ALIGN_BYTES);
  *out = *at;
  if (*at) *at += bytes;
  return bytes;
}

size_t recurrent_weights_at(const recurrent_dims *d, bool peep, void *base, recurrent_weights *out) {
  char *at = base;
  void *p[6];
  size_t n = take(&at, ox_gemm_b_bytes(d->v[0], d->input, d->gates * d->hidden), &p[0]);
  n += take(&at, ox_gemm_b_bytes(d->v[1], d->hidden, d->first), &p[1]);
  n += take(&at, ox_gemm_b_bytes(d->v[2], d->hidden, d->second), &p[2]);
  n += take(&at, d->gates * d->hidden * sizeof(float), &p[3]);
  n += take(&at, d->hidden * sizeof(float), &p[4]);
  n += take(&at, peep ? 3 * d->hidden * sizeof(float) : 0, &p[5]);
  *out = (recurrent_weights){p[0], p[1], p[2], p[3], p[4], peep ? p[5] : NULL};
  return n;
}

static float at(const ox_tensor *t, size_t i) {
  if (t->dtype == OX_F16) return vf32_load_f16((const uint16_t *)t->data + i);
  if (t->dtype == OX_BF16) return vf32_load_bf16((const uint16_t *)t->data + i);
  return ((const ox_f32u *)t->data)[i];
}

/* Rows [row, row + n) of a matrix with |k| columns, as the transposed right-hand side of a product. */
typedef struct {
  const ox_tensor *t;
  size_t row, n, k;
  void *to;
} matrix;

enum { MATRICES = OX_COUNT(((recurrent_dims *)0)->v) };

static void matrices_of(const recurrent_dims *d, const ox_tensor *const in[4], size_t dir, const recurrent_weights *to,
                        matrix out[MATRICES]) {
  size_t n = d->gates * d->hidden;
  out[0] = (matrix){in[0], dir * n, n, d->input, to->w};
  out[1] = (matrix){in[1], dir * n, d->first, d->hidden, to->r};
  out[2] = (matrix){in[1], dir * n + d->first, d->second, d->hidden, to->r2};
}

static ox_gemm_src source_of(const matrix *m) {
  size_t elem = m->t->dtype == OX_F32 ? 4 : 2;
  const char *p = m->t->data ? (const char *)m->t->data + m->row * m->k * elem : NULL;
  return (ox_gemm_src){p, m->t->dtype, 1, (ptrdiff_t)m->k};
}

void recurrent_pack_biases(const recurrent_dims *d, const recurrent_attrs *a, const ox_tensor *const in[4], size_t dir,
                           const recurrent_weights *to) {
  size_t n = d->gates * d->hidden;
  bool apart = d->cell == CELL_GRU && a->linear_before_reset; /* the reset gate multiplies the hidden gate's Rb, too */
  for (size_t i = 0; i < n; i++) {
    to->bias[i] = in[2] ? at(in[2], dir * 2 * n + i) : 0;
    if (in[2] && !(apart && i >= d->first)) to->bias[i] += at(in[2], dir * 2 * n + n + i);
  }
  for (size_t i = 0; to->reset_bias && i < d->hidden; i++)
    to->reset_bias[i] = apart && in[2] ? at(in[2], dir * 2 * n + n + d->first + i) : 0;
  for (size_t i = 0; to->peep && i < 3 * d->hidden; i++) to->peep[i] = at(in[3], dir * 3 * d->hidden + i);
}

size_t recurrent_pack_units(const recurrent_dims *d, const ox_tensor *const in[4]) {
  const recurrent_weights nowhere = {0};
  matrix m[MATRICES];
  size_t units = 1; /* the biases */
  matrices_of(d, in, 0, &nowhere, m);
  for (int i = 0; i < MATRICES; i++) {
    ox_gemm_src src = source_of(&m[i]);
    units += ox_gemm_pack_units(d->v[i], &src, m[i].k, m[i].n);
  }
  return units;
}

void recurrent_pack_unit(const recurrent_dims *d, const recurrent_attrs *a, const ox_tensor *const in[4], size_t dir,
                         size_t unit, const recurrent_weights *to) {
  matrix m[MATRICES];
  if (d->gates * d->hidden == 0) return;
  if (unit-- == 0) {
    recurrent_pack_biases(d, a, in, dir, to);
    return;
  }
  matrices_of(d, in, dir, to, m);
  for (int i = 0; i < MATRICES; i++) {
    ox_gemm_src src = source_of(&m[i]);
    size_t units = ox_gemm_pack_units(d->v[i], &src, m[i].k, m[i].n);
    if (unit < units) {
      ox_gemm_pack_unit(d->v[i], &src, 0, m[i].k, m[i].n, unit, m[i].to);
      return;
    }
    unit -= units;
  }
}

void recurrent_pack(const recurrent_dims *d, const recurrent_attrs *a, const ox_tensor *const in[4], size_t dir,
                    const recurrent_weights *to, const ox_stop *stop) {
  size_t units = recurrent_pack_units(d, in);
  for (size_t u = 0; u < units && !(stop && ox_stop_asked(stop)); u++) recurrent_pack_unit(d, a, in, dir, u, to);
}

ox_status *recurrent_lens(const ox_kernel_ctx *c, const recurrent_dims *d, const int32_t **out) {
  const ox_tensor *t = recurrent_in(c, IN_LENS);
  *out = t ? t->data : NULL;
  for (size_t b = 0; t && b < d->batch; b++)
    if ((*out)[b] < 0 || (size_t)(*out)[b] > d->seq)
      return ox_fail(OX_INVALID_ARGUMENT, "sequence_lens[%zu] is %d, wanted 0 to %zu", b, (int)(*out)[b], d->seq);
  return NULL;
}
