/* SPDX-License-Identifier: Apache-2.0
 * device/ops/rotary.c - RotaryEmbedding of ONNX, and com.microsoft's, where positions are the second input and may be
 * just that of the first token. */
#include "plugins/device/emit.h"
#include "plugins/device/kernels/rotary_params.h"

static bool is_ms(const dev_node *n) { return *n->host->node_domain(n->graph, n->index) != 0; }
static size_t cosines_at(const dev_node *n) { return is_ms(n) ? 2 : 1; }
static size_t positions_at(const dev_node *n) { return is_ms(n) ? 1 : 3; }

static bool has_positions(const dev_node *n) {
  return dev_in_count(n) > positions_at(n) && dev_in(n, positions_at(n)) != UINT32_MAX;
}

static const char *takes_positions(const dev_node *n) {
  int rank = dev_in_rank(n, positions_at(n));
  if (!has_positions(n)) return NULL;
  bool fits = rank == 2 || (is_ms(n) && rank == 1 && dev_in_dim(n, positions_at(n), 0) == 1);
  return fits && dev_in_dtype(n, positions_at(n)) == OX_I64 ? NULL
                                                            : REASON("positions of int64, of 2 axes", "{inputs}");
}

static const char *takes(const dev_node *n) {
  const char *why = dev_takes_real(n, 3, 4);
  if (why) return why;
  if (dev_in_rank(n, 0) == 3 && dev_attr_int(n, "num_heads", 0) < 1)
    return REASON("num_heads beside 3 axes", "{num_heads}, {0}");
  if ((why = takes_positions(n)) != NULL) return why;
  size_t at = cosines_at(n);
  return dev_in_rank(n, at) == (has_positions(n) ? 2 : 3) && dev_in_rank(n, at + 1) == dev_in_rank(n, at)
             ? NULL
             : REASON("caches of 2 axes beside positions, of 3 without", "{inputs}");
}

static ox_status *emit(dev_plan *p, const dev_node *n) {
  const ox_shape *x = dev_shape(p, dev_in(n, 0)), *cosines = dev_shape(p, dev_in(n, cosines_at(n)));
  uint32_t sines = dev_in(n, cosines_at(n) + 1), positions = has_positions(n) ? dev_in(n, positions_at(n)) : UINT32_MAX;
  bool one = positions != UINT32_MAX && dev_shape(p, positions)->rank == 1;
  bool flat = x->rank == 3; /* [batch, token, heads * size], else [batch, head, token, size] */
  int64_t heads = flat ? dev_attr_int(n, "num_heads", 1) : x->dim[1], length = x->dim[flat ? 1 : 2];
  int64_t size = flat ? x->dim[2] / heads : x->dim[3], turning = dev_attr_int(n, "rotary_embedding_dim", 0);
  int64_t pairs = (turning    ? turning
                   : is_ms(n) ? 2 * cosines->dim[cosines->rank - 1]
                              : size) /
                  2,
          tokens = x->dim[0] * length;
  if (flat && x->dim[2] % heads) return dev_refuse(p, "num_heads does not divide the last axis");
  if (turning < 0 || pairs > size / 2 || cosines->dim[cosines->rank - 1] != pairs ||
      dev_count(p, sines) != dev_count(p, dev_in(n, cosines_at(n))))
    return dev_refuse(p, "caches that do not fit rotary_embedding_dim");
  int64_t rows = pairs ? dev_count(p, sines) / pairs : 0;
  if (has_positions(n) ? dev_count(p, positions) != (one ? 1 : tokens) || (rows == 0 && tokens)
                       : rows != tokens && pairs)
    return dev_refuse(p, "positions or caches that do not fit the tokens");
  rotary_params params = {.n = (int)dev_count(p, dev_in(n, 0)),
                          .heads = (int)heads,
                          .length = (int)length,
                          .size = (int)size,
                          .pairs = (int)pairs,
                          .interleaved = dev_attr_int(n, "interleaved", 0) != 0,
                          .batch_stride = (int)(heads * length * size),
                          .has_positions = one ? 2 : has_positions(n),
                          .head_stride = (int)(flat ? size : length * size),
                          .token_stride = (int)(flat ? heads * size : size),
                          .angles = (int)rows};
  dev_call c = {.source = "rotary",
                .kernel = "rotary",
                .dtype = dev_dtype(p, dev_in(n, 0)),
                .n_buffers = 5,
                .written = 1u << 4,
                DEV_PARAMS(params),
                .buffers = {dev_value(p, dev_in(n, 0)), dev_value(p, dev_in(n, cosines_at(n))), dev_value(p, sines),
                            dev_value(p, positions), dev_value(p, dev_out(n, 0))}};
  return dev_emit_items(p, &c, params.n);
}

static const char *const names[] = {"RotaryEmbedding", "com.microsoft:RotaryEmbedding", NULL};
DEV_OP(rotary) = {"", names, takes, emit};
