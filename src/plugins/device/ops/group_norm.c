/* SPDX-License-Identifier: Apache-2.0
 * device/ops/group_norm.c - com.microsoft's GroupNorm and SkipGroupNorm, channels first or last. */
#include <string.h>

#include "plugins/device/emit.h"
#include "plugins/device/kernels/elementwise_params.h"
#include "plugins/device/kernels/group_norm_params.h"
#include "plugins/device/kernels/rows_params.h"

enum { X, GAMMA, BETA, SKIP, BIAS };
enum { Y, SUM };

static bool has_in(const dev_node *n, size_t i) { return dev_in_count(n) > i && dev_in(n, i) != UINT32_MAX; }
static bool is_real(uint32_t dtype) { return dtype == OX_F32 || dtype == OX_F16; }

static const char *takes(const dev_node *n) {
  uint32_t dtype = dev_in_dtype(n, X);
  if (!is_real(dtype) || dev_in_rank(n, X) != 4) return REASON("float32 or float16, and 4 axes", "{0}");
  if (!is_real(dev_in_dtype(n, GAMMA)) || dev_in_dtype(n, BETA) != dev_in_dtype(n, GAMMA) ||
      (dev_in_dtype(n, GAMMA) != OX_F32 && dev_in_dtype(n, GAMMA) != dtype))
    return REASON("a scale and a bias of float32, or of the input's type", "{1}, {2}");
  for (size_t i = SKIP; i <= BIAS; i++)
    if (has_in(n, i) && (dev_in_dtype(n, i) != dtype || dev_in_rank(n, i) < 0))
      return REASON("a skip and a bias of the input's type and known ranks", "{inputs}");
  return dev_out(n, Y) == UINT32_MAX ? REASON("a reader of the result", "one of the sum alone") : NULL;
}

/* Sizes of X. The channel of element i is i / div % channels. */
typedef struct image {
  int64_t images, channels, pixels, count, div;
  size_t item;
  bool last;
} image;

static ox_status *emit_sum(dev_plan *p, const image *m, const dev_tail *terms, dev_ref x, dev_ref y, int64_t count) {
  const flat_params params = {(int)count, terms->params};
  dev_call c = {.source = "elementwise",
                .kernel = "flat",
                .dtype = m->item == 2 ? OX_F16 : OX_F32,
                .groups = {dev_groups(count, FLAT_ITEMS * FLAT_EACH)},
                .items = FLAT_ITEMS,
                .n_buffers = 2,
                .written = 1u << 1,
                DEV_PARAMS(params),
                .buffers = {x, y}};
  dev_call_tail(&c, terms);
  return dev_emit(p, &c);
}

/* sum = X + skip + bias. With channels last, a skip of one number per image and channel takes a launch per image. */
static ox_status *add(dev_plan *p, const dev_node *n, const image *m, dev_ref sum) {
  int64_t skips = dev_count(p, dev_in(n, SKIP)), each = m->count;
  bool whole = skips == m->count, apart = !whole && m->last && m->images > 1;
  if (!whole && skips != m->images * m->channels) return dev_refuse(p, "a skip that does not fit");
  if (has_in(n, BIAS) && dev_count(p, dev_in(n, BIAS)) != m->channels) return dev_refuse(p, "a bias that does not fit");
  if (apart) each /= m->images;
  for (int64_t at = 0; at < m->count; at += each) {
    dev_ref x = dev_value(p, dev_in(n, X)), y = sum, skip = dev_value(p, dev_in(n, SKIP));
    dev_tail terms = dev_tail_none(UINT32_MAX);
    x.offset += (size_t)at * m->item, y.offset += (size_t)at * m->item;
    if (apart) skip.offset += (size_t)(at / m->pixels) * m->item;
    dev_tail_operand(&terms, TAIL_ADD, skip, whole ? 1 : m->div, apart ? m->channels : skips);
    if (has_in(n, BIAS)) dev_tail_operand(&terms, TAIL_ADD, dev_value(p, dev_in(n, BIAS)), m->div, m->channels);
    DEV_TRY(emit_sum(p, m, &terms, x, y, each));
  }
  return NULL;
}

static ox_status *emit(dev_plan *p, const dev_node *n) {
  const ox_shape *x = dev_shape(p, dev_in(n, X));
  image m = {.images = x->dim[0],
             .count = dev_count(p, dev_in(n, X)),
             .item = dev_in_dtype(n, X) == OX_F16 ? 2 : 4,
             .last = dev_attr_int(n, "channels_last", 1) != 0};
  int64_t groups = dev_attr_int(n, "groups", 1);
  dev_tail act = dev_tail_none(UINT32_MAX), then, tail;
  DEV_TRY(dev_take_tail(p, n, &then));
  if (m.count == 0) return NULL;
  m.channels = x->dim[m.last ? 3 : 1], m.pixels = m.count / m.images / m.channels, m.div = m.last ? 1 : m.pixels;
  if (groups < 1 || m.channels % groups) return dev_refuse(p, "channels are no multiple of groups");
  if (dev_count(p, dev_in(n, GAMMA)) != m.channels || dev_count(p, dev_in(n, BETA)) != m.channels)
    return dev_refuse(p, "scale has another number of elements");
  dev_ref from = dev_value(p, dev_in(n, X)), y = dev_value(p, then.out);
  if (has_in(n, SKIP)) {
    bool wanted = n->host->node_out_count(n->graph, n->index) > SUM && dev_out(n, SUM) != UINT32_MAX;
    from = wanted ? dev_value(p, dev_out(n, SUM)) : dev_temp(p, (size_t)m.count * m.item);
    DEV_TRY(add(p, n, &m, from));
  }
  if (dev_attr_int(n, "activation", 0)) dev_tail_constant(&act, TAIL_SILU, 1);
  bool joined = dev_tail_join(&act, &then, &tail);
  const group_norm_params params = {.groups = (int)groups,
                                    .channels = (int)(m.channels / groups),
                                    .pixels = (int)m.pixels,
                                    .last = m.last,
                                    .wide = dev_in_dtype(n, GAMMA) == OX_F32,
                                    .epsilon = dev_attr_float(n, "epsilon", 1e-5f),
                                    .tail = joined ? tail.params : act.params};
  dev_call c = {.source = "group_norm",
                .kernel = "group_norm",
                .dtype = dev_in_dtype(n, X),
                .groups = {(uint32_t)(m.images * groups)},
                .items = ROWS_ITEMS,
                .n_buffers = 4,
                .written = 1u << 3,
                DEV_PARAMS(params),
                .buffers = {from, dev_value(p, dev_in(n, GAMMA)), dev_value(p, dev_in(n, BETA)), y}};
  dev_call_tail(&c, joined ? &tail : &act);
  DEV_TRY(dev_emit(p, &c));
  return joined ? NULL : dev_emit_tail(p, &then, y, c.dtype, m.count);
}

static const char *const names[] = {"GroupNorm", "SkipGroupNorm", NULL};
DEV_OP(group_norm) = {"com.microsoft", names, takes, emit};
