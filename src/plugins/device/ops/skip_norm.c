/* SPDX-License-Identifier: Apache-2.0
 * device/ops/skip_norm.c - com.microsoft's SkipLayerNormalization and SkipSimplifiedLayerNormalization. */
#include <string.h>

#include "plugins/device/emit.h"
#include "plugins/device/kernels/rows_params.h"
#include "plugins/device/kernels/skip_norm_params.h"

enum { X, SKIP, SCALE };
enum { Y, MEAN, INVERSE, SUM };

static bool has_in(const dev_node *n, size_t i) { return dev_in_count(n) > i && dev_in(n, i) != UINT32_MAX; }
static bool is_simple(const dev_node *n) { return strcmp(dev_node_op(n), "SkipSimplifiedLayerNormalization") == 0; }
static uint32_t out_of(const dev_node *n, size_t i) {
  return n->host->node_out_count(n->graph, n->index) > i ? dev_out(n, i) : UINT32_MAX;
}

static const char *takes(const dev_node *n) {
  const char *why = dev_takes_real(n, 2, 3);
  if (why) return why;
  if (out_of(n, MEAN) != UINT32_MAX || out_of(n, INVERSE) != UINT32_MAX)
    return REASON("neither mean nor deviation as outputs", "{>1}, {>2}");
  int64_t width = dev_in_dim(n, X, dev_in_rank(n, X) - 1);
  for (size_t i = SCALE; i < dev_in_count(n); i++)
    if (has_in(n, i) && (dev_in_rank(n, i) != 1 || width < 0 || dev_in_dim(n, i, 0) != width))
      return REASON("a scale and biases as long as the last axis", "{inputs}");
  int shift = dev_in_rank(n, X) - dev_in_rank(n, SKIP); /* SKIP has the shape of X, or of its last axes */
  for (int d = 0; d < dev_in_rank(n, SKIP); d++) {
    int64_t x = shift < 0 ? -1 : dev_in_dim(n, X, d + shift), skip = dev_in_dim(n, SKIP, d);
    bool batch = d + shift == 0 && dev_in_rank(n, X) == 3;
    if (shift < 0 || (x != skip && !(batch && skip == 1)) || (skip == 1 && x != 1 && !batch))
      return REASON("a residual of the input's shape", "{0}, {1}");
  }
  return NULL;
}

static ox_status *emit(dev_plan *p, const dev_node *n) {
  const ox_shape *x = dev_shape(p, dev_in(n, X));
  const size_t shift = is_simple(n) ? SIZE_MAX : SCALE + 1, bias = is_simple(n) ? SCALE + 1 : SCALE + 2;
  bool has_shift = shift != SIZE_MAX && has_in(n, shift), has_bias = has_in(n, bias);
  int64_t width = x->dim[x->rank - 1], count = dev_count(p, dev_in(n, X)), skip = dev_count(p, dev_in(n, SKIP));
  skip_norm_params params = {.n = (int)width,
                             .skip_n = (int)skip,
                             .centred = !is_simple(n),
                             .has_bias = has_bias,
                             .has_shift = has_shift,
                             .wants_sum = out_of(n, SUM) != UINT32_MAX,
                             .epsilon = dev_attr_float(n, "epsilon", 1e-12f)};
  if (count == 0) return NULL;
  const ox_shape *s = dev_shape(p, dev_in(n, SKIP));
  for (int d = 0, at = x->rank - s->rank; d < s->rank; d++)
    if (s->dim[d] != x->dim[d + at] && !(d + at == 0 && s->dim[d] == 1))
      return dev_refuse(p, "a residual that does not fit");
  const dev_call c = {.source = "skip_norm",
                      .kernel = "skip_norm",
                      .dtype = dev_dtype(p, dev_in(n, X)),
                      .groups = {(uint32_t)(count / width)},
                      .items = ROWS_ITEMS,
                      .n_buffers = 7,
                      .written = 3u << 5,
                      DEV_PARAMS(params),
                      .buffers = {dev_value(p, dev_in(n, X)), dev_value(p, dev_in(n, SKIP)),
                                  dev_value(p, has_bias ? dev_in(n, bias) : UINT32_MAX), dev_value(p, dev_in(n, SCALE)),
                                  dev_value(p, has_shift ? dev_in(n, shift) : UINT32_MAX),
                                  out_of(n, Y) != UINT32_MAX
                                      ? dev_value(p, dev_out(n, Y))
                                      : dev_temp(p, (size_t)count * (dev_dtype(p, dev_in(n, X)) == OX_F16 ? 2 : 4)),
                                  dev_value(p, out_of(n, SUM))}};
  return dev_emit(p, &c);
}

static const char *const names[] = {"SkipLayerNormalization", "SkipSimplifiedLayerNormalization", NULL};
DEV_OP(skip_norm) = {"com.microsoft", names, takes, emit};
