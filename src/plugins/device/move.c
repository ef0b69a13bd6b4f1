/* SPDX-License-Identifier: Apache-2.0
 * device/move.c - see move.h. */
#include "plugins/device/move.h"

#include <string.h>

#include "plugins/device/kernels/move_params.h"

int dev_element_bytes(uint32_t dtype) {
  switch (dtype) {
    case OX_U8:
    case OX_I8:
    case OX_BOOL:
      return 1;
    case OX_F16:
    case OX_BF16:
    case OX_U16:
    case OX_I16:
      return 2;
    case OX_F32:
    case OX_I32:
    case OX_U32:
      return 4;
    case OX_F64:
    case OX_I64:
    case OX_U64:
      return 8;
    default:
      return 0;
  }
}

const char *dev_of_bytes(const char *const of[4], int bytes) {
  return of[bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3];
}

const char *dev_takes_data(const dev_node *n, size_t in, int most_rank) {
  uint32_t dtype = dev_in_dtype(n, in);
  int rank = dev_in_rank(n, in);
  if (!dev_element_bytes(dtype)) return REASON("numbers of 8, 16, 32 or 64 bits, or bool", "{inputs}");
  const char *why = dev_takes_rank(n, in, 0, most_rank);
  if (why) return why;
  bool real = dtype == OX_F32 || dtype == OX_F16;
  bool on_device = n->lies && n->lies[dev_in(n, in)] == DEV_ON_DEVICE;
  return !real && rank <= 1 && !on_device
             ? REASON("data (integers of at most one axis are shapes, which stay with the host)", "{inputs}")
             : NULL;
}

void dev_strides(const ox_shape *s, int64_t *out) {
  int64_t step = 1;
  for (int d = s->rank - 1; d >= 0; step *= s->dim[d], d--) out[d] = step;
}

/* Drops axes of size 1 and merges axes with compatible strides on both sides. -1: too many remain. */
static int join_axes(const dev_move *m, dev_move *out) {
  *out = (dev_move){.from = m->from, .to = m->to};
  for (int d = 0; d < m->rank; d++) {
    int last = out->rank - 1;
    if (m->size[d] == 1) continue;
    if (last >= 0 && out->from_stride[last] == m->from_stride[d] * m->size[d] &&
        out->to_stride[last] == m->to_stride[d] * m->size[d]) {
      out->size[last] *= m->size[d], out->from_stride[last] = m->from_stride[d], out->to_stride[last] = m->to_stride[d];
      continue;
    }
    out->size[out->rank] = m->size[d], out->from_stride[out->rank] = m->from_stride[d];
    out->to_stride[out->rank++] = m->to_stride[d];
  }
  return out->rank <= MOVE_DIMS ? 0 : -1;
}

/* Treats pairs of adjacent elements as one of twice the size; false: not all pairs stay together. */
static bool halve(dev_move *m) {
  int last = m->rank - 1;
  if (last < 0 || m->from_stride[last] != 1 || m->to_stride[last] != 1 || m->size[last] % 2 || m->from % 2 || m->to % 2)
    return false;
  for (int d = 0; d < last; d++)
    if (m->from_stride[d] % 2 || m->to_stride[d] % 2) return false;
  m->size[last] /= 2, m->from /= 2, m->to /= 2;
  for (int d = 0; d < last; d++) m->from_stride[d] /= 2, m->to_stride[d] /= 2;
  return true;
}

/* Recognises a transpose: the axis that is contiguous in the source is moved next to the last one, which is contiguous
 * in the destination. */
static bool as_transpose(dev_move *m) {
  int last = m->rank - 1, r = 0;
  if (m->rank < 2 || m->to_stride[last] != 1 || m->from_stride[last] == 1 || m->size[last] < 8) return false;
  while (r < last && m->from_stride[r] != 1) r++;
  if (r == last || m->size[r] < 8) return false;
  int64_t size = m->size[r], to = m->to_stride[r];
  for (int d = r; d + 1 < last; d++)
    m->size[d] = m->size[d + 1], m->from_stride[d] = m->from_stride[d + 1], m->to_stride[d] = m->to_stride[d + 1];
  m->size[last - 1] = size, m->from_stride[last - 1] = 1, m->to_stride[last - 1] = to;
  return true;
}

ox_status *dev_emit_move(dev_plan *p, const dev_move *given, uint32_t dtype, dev_ref from, dev_ref to) {
  static const char *const moves[] = {"move1", "move2", "move4", "move8"};
  static const char *const transposes[] = {"transpose1", "transpose2", "transpose4", "transpose8"};
  int bytes = dev_element_bytes(dtype);
  int64_t n = 1;
  dev_move m;
  for (int d = 0; d < given->rank; d++) n *= given->size[d];
  if (n == 0) return NULL;
  if (join_axes(given, &m)) return dev_refuse(p, "elements move along more than 8 axes");
  if (m.rank == 0 || (m.rank == 1 && m.from_stride[0] == 1 && m.to_stride[0] == 1)) {
    from.offset += (size_t)(m.from * bytes), to.offset += (size_t)(m.to * bytes);
    if (dev_share(p, to, from, (size_t)(n * bytes))) return NULL;
    return dev_emit_copy(p, to, from, (size_t)(n * bytes));
  }
  for (; bytes < 8 && halve(&m); bytes *= 2) n /= 2;
  bool transpose = as_transpose(&m);
  move_params params = {.n = (int)n, .from = (int)m.from, .to = (int)m.to};
  for (int d = 0; d < MOVE_DIMS; d++) {
    int a = d - (MOVE_DIMS - m.rank);
    params.size[d] = a < 0 ? 1 : (int)m.size[a], params.from_stride[d] = a < 0 ? 0 : (int)m.from_stride[a];
    params.to_stride[d] = a < 0 ? 0 : (int)m.to_stride[a];
  }
  dev_call c = {.source = "move",
                .kernel = dev_of_bytes(transpose ? transposes : moves, bytes),
                .dtype = OX_F32,
                .n_buffers = 2,
                .buffers = {from, to},
                .written = 1u << 1,
                DEV_PARAMS(params)};
  if (!transpose) return dev_emit_items(p, &c, n);
  int64_t rows = m.size[m.rank - 2], columns = m.size[m.rank - 1];
  c.groups[0] = (uint32_t)(n / rows / columns) * dev_groups(rows, MOVE_TILE) * dev_groups(columns, MOVE_TILE);
  c.items = 256;
  return dev_emit(p, &c);
}
