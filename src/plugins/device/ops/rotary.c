/* SPDX-License-Identifier: Apache-2.0
 * device/ops/rotary.c - RotaryEmbedding of the standard. */
#include "plugins/device/emit.h"
#include "plugins/device/kernels/rotary_params.h"

static bool has_positions(const dev_node *n) { return dev_in_count(n) > 3 && dev_in(n, 3) != UINT32_MAX; }

static const char *takes(const dev_node *n) {
  const char *why = dev_takes_real(n, 3, 4);
  if (why) return why;
  if (dev_in_rank(n, 0) == 3 && dev_attr_int(n, "num_heads", 0) < 1) return "of three axes, without num_heads";
  if (has_positions(n) && (dev_in_dtype(n, 3) != OX_I64 || dev_in_rank(n, 3) != 2)) return "positions of another form";
  return dev_in_rank(n, 1) == (has_positions(n) ? 2 : 3) && dev_in_rank(n, 2) == dev_in_rank(n, 1)
             ? NULL
             : "caches of another rank";
}

static ox_status *emit(dev_plan *p, const dev_node *n) {
  const ox_shape *x = dev_shape(p, dev_in(n, 0)), *cosines = dev_shape(p, dev_in(n, 1));
  bool flat = x->rank == 3; /* [batch, token, head and number], else [batch, head, token, number] */
  int64_t heads = flat ? dev_attr_int(n, "num_heads", 1) : x->dim[1], length = x->dim[flat ? 1 : 2];
  int64_t size = flat ? x->dim[2] / heads : x->dim[3], turning = dev_attr_int(n, "rotary_embedding_dim", 0);
  int64_t pairs = (turning ? turning : size) / 2, tokens = x->dim[0] * length;
  if (flat && x->dim[2] % heads) return dev_refuse(p, "num_heads does not divide the last axis");
  if (turning < 0 || pairs > size / 2 || cosines->dim[cosines->rank - 1] != pairs ||
      dev_count(p, dev_in(n, 2)) != dev_count(p, dev_in(n, 1)))
    return dev_refuse(p, "caches that do not fit rotary_embedding_dim");
  int64_t rows = pairs ? dev_count(p, dev_in(n, 1)) / pairs : 0;
  if (has_positions(n) ? dev_count(p, dev_in(n, 3)) != tokens || (rows == 0 && tokens) : rows != tokens && pairs)
    return dev_refuse(p, "positions or caches that do not fit the tokens");
  rotary_params params = {.n = (int)dev_count(p, dev_in(n, 0)),
                          .heads = (int)heads,
                          .length = (int)length,
                          .size = (int)size,
                          .pairs = (int)pairs,
                          .interleaved = dev_attr_int(n, "interleaved", 0) != 0,
                          .batch_stride = (int)(heads * length * size),
                          .has_positions = has_positions(n),
                          .head_stride = (int)(flat ? size : length * size),
                          .token_stride = (int)(flat ? heads * size : size),
                          .angles = (int)rows};
  dev_call c = {.source = "rotary",
                .kernel = "rotary",
                .dtype = dev_dtype(p, dev_in(n, 0)),
                .n_buffers = 5,
                .written = 1u << 4,
                DEV_PARAMS(params),
                .buffers = {dev_value(p, dev_in(n, 0)), dev_value(p, dev_in(n, 1)), dev_value(p, dev_in(n, 2)),
                            dev_value(p, has_positions(n) ? dev_in(n, 3) : UINT32_MAX), dev_value(p, dev_out(n, 0))}};
  return dev_emit_items(p, &c, params.n);
}

static const char *const names[] = {"RotaryEmbedding", NULL};
DEV_OP(rotary) = {"", names, takes, emit};
