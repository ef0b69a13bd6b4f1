/* SPDX-License-Identifier: Apache-2.0
 * ops/lstm_dynamic_quant.c - com.microsoft.DynamicQuantizeLSTM: LSTM with 8-bit weights and 8-bit products. X has
 * one scale, the states one for each step of the rows that are computed together. */
#include <string.h>

#include "ops/rnn/recurrent_i8.h"
#include "ops/shared/check.h"

static const ox_attr_def attrs[] = {
    RECURRENT_ATTR_ROWS,
};

static ox_status *bad(const char *what, const ox_shape *s) {
  char text[OX_SHAPE_TEXT];
  return ox_fail(OX_SHAPE_MISMATCH, "DynamicQuantizeLSTM: %s %s does not fit the other inputs", what,
                 ox_shape_text(s, text));
}

/* |s|: by input, NULL if absent. */
static ox_status *check_shapes(const recurrent_attrs *a, const ox_shape *const *s) {
  static const char *const names[RECURRENT_I8_IN] = {"X",         "W",           "R", "B",       "sequence_lens",
                                                     "initial_h", "initial_c",   "P", "W_scale", "W_zero_point",
                                                     "R_scale",   "R_zero_point"};
  const ox_shape *x = s[IN_X], *r = s[IN_R];
  int64_t dirs = strcmp(a->direction, "bidirectional") == 0 ? 2 : 1, hidden = r->rank == 3 ? r->dim[1] : -1;
  int64_t input = x->rank == 3 ? x->dim[2] : -1, batch = x->rank == 3 ? x->dim[1] : -1, n = ox_dim_mul(4, hidden);
  const int64_t want[IN_P + 1][3] = {
      {-1, -1, -1}, {dirs, input, n},      {dirs, hidden, n},     {dirs, ox_dim_mul(2, n)},
      {batch},      {dirs, batch, hidden}, {dirs, batch, hidden}, {dirs, ox_dim_mul(3, hidden)}};
  static const int rank[IN_P + 1] = {3, 3, 3, 2, 1, 3, 3, 2};
  for (int i = 0; i <= IN_P; i++)
    if (s[i] && !ox_shape_is(s[i], rank[i], want[i])) return bad(names[i], s[i]);
  for (int i = IN_W_SCALE; i < RECURRENT_I8_IN; i++)
    if (!s[i]) return ox_fail(OX_INVALID_MODEL, "DynamicQuantizeLSTM: input %s is missing", names[i]);
  for (int i = IN_W_SCALE; i < RECURRENT_I8_IN; i++) {
    int64_t count = ox_shape_count(s[i]), other = ox_shape_count(s[i ^ 1]); /* a scale and its zero point are a pair */
    if ((count >= 0 && hidden >= 0 && count != dirs && count != ox_dim_mul(dirs, n)) ||
        (count >= 0 && other >= 0 && other != count))
      return bad(names[i], s[i]);
  }
  return NULL;
}
_Static_assert(IN_W_SCALE % 2 == 0 && IN_R_SCALE % 2 == 0, "pairs");

static ox_status *infer(ox_infer_ctx *c) {
  const ox_shape *s[RECURRENT_I8_IN];
  for (uint32_t i = 0; i < RECURRENT_I8_IN; i++) s[i] = ox_infer_has(c, i) ? &c->in[i]->shape : NULL;
  OX_TRY(check_shapes(c->attrs, s));
  const ox_shape *x = s[IN_X], *r = s[IN_R];
  int64_t dirs = r->rank == 3 ? r->dim[0] : -1, hidden = r->rank == 3 ? r->dim[1] : -1;
  int64_t seq = x->rank == 3 ? x->dim[0] : -1, batch = x->rank == 3 ? x->dim[1] : -1;
  ox_shape y = ox_shape_of(4, (int64_t[]){seq, dirs, batch, hidden});
  ox_shape h = ox_shape_of(3, (int64_t[]){dirs, batch, hidden});
  ox_infer_out(c, 0, OX_F32, &y);
  ox_infer_out(c, 1, OX_F32, &h);
  ox_infer_out(c, 2, OX_F32, &h);
  return NULL;
}

/* ---- kernel ---- */
static ox_status *load(ox_load_ctx *c) {
  static const uint8_t weights[] = {IN_W, IN_R, IN_B, IN_P};
  const ox_shape *shape[RECURRENT_I8_IN];
  uint64_t consumed = 0;
  for (size_t i = 0; i < sizeof weights; i++) {
    if (weights[i] >= c->n_in || !c->in_type[weights[i]]) continue;
    if (!c->in_const[weights[i]]) return NULL; /* each run packs them */
    consumed |= (uint64_t)1 << weights[i];
  }
  for (uint32_t i = 0; i < RECURRENT_I8_IN; i++) shape[i] = i < c->n_in && c->in_type[i] ? &c->in_type[i]->shape : NULL;
  OX_TRY(check_shapes(c->attrs, shape));
  if (!(c->state = OX_LOAD_NEW(c, recurrent_const))) return ox_oom();
  c->consumed = consumed;
  return NULL;
}

static ox_status *prepare(ox_kernel_ctx *c) {
  const ox_shape *shape[RECURRENT_I8_IN];
  for (uint32_t i = 0; i < RECURRENT_I8_IN; i++) shape[i] = ox_ctx_has(c, i) ? &c->in[i]->shape : NULL;
  OX_TRY(check_shapes(c->attrs, shape));
  return recurrent_prepare(c, CELL_LSTM);
}

#define F32 OX_BIT(OX_F32)
#define BYTES (OX_BIT(OX_U8) | OX_BIT(OX_I8))
static const ox_op ops[] = {
    {OX_SCHEMA(.name = "DynamicQuantizeLSTM", .domain = "com.microsoft", .since = 1, .min_in = 3,
               .max_in = RECURRENT_I8_IN, .min_out = 0, .max_out = 3,
               .types = {F32, BYTES, BYTES, F32, OX_BIT(OX_I32), F32, F32, F32}, .vars = ".TT......T.T",
               .more_types = (const uint32_t[]){F32, BYTES, F32, BYTES}, OX_ATTRS(attrs),
               .attrs_bytes = sizeof(recurrent_attrs), .infer = infer),
     OX_KERNEL(.load = load, .prepare = prepare, .run = recurrent_run, .flops = recurrent_flops)},
};
const ox_op_set ox_ops_lstm_dynamic_quant = {ops, OX_COUNT(ops)};
