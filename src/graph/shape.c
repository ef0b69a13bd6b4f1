/* SPDX-License-Identifier: Apache-2.0
 * graph/shape.c - shape arithmetic that survives unknown dimensions. */
#include "graph/shape.h"

#include <stdio.h>
#include <string.h>

#include "base/cksize.h"
#include "graph/dtype.h"

ox_shape ox_shape_unknown(void) { return (ox_shape){.rank = -1}; }
ox_shape ox_shape_scalar(void) { return (ox_shape){.rank = 0}; }

ox_shape ox_shape_of(int rank, const int64_t *dims) {
  ox_shape s = {.rank = rank};
  for (int i = 0; i < rank; i++) s.dim[i] = dims[i];
  return s;
}

bool ox_shape_known(const ox_shape *s) {
  for (int i = 0; i < s->rank; i++)
    if (s->dim[i] < 0) return false;
  return s->rank >= 0;
}

bool ox_shape_equal(const ox_shape *a, const ox_shape *b) {
  if (a->rank != b->rank) return false;
  for (int i = 0; i < a->rank; i++)
    if (a->dim[i] != b->dim[i]) return false;
  return true;
}

int64_t ox_shape_span(const ox_shape *s, int from, int to) {
  if (s->rank < 0) return -1;
  int64_t n = 1;
  bool zero = false, unknown = false;
  for (int i = from; i < to; i++) {
    zero |= s->dim[i] == 0;
    unknown |= s->dim[i] < 0;
    if (!zero && !unknown && !ox_mul_i64_ok(n, s->dim[i], &n)) unknown = true;
  }
  return unknown ? -1 : zero ? 0 : n;
}

int64_t ox_shape_count(const ox_shape *s) { return ox_shape_span(s, 0, s->rank); }

bool ox_shape_fits(const ox_shape *s) {
  int64_t n = 1;
  for (int i = 0; i < s->rank; i++)
    if (s->dim[i] > 1 && (!ox_mul_i64_ok(n, s->dim[i], &n) || n >= (int64_t)1 << 57)) return false;
  return true;
}

int64_t ox_dim_mul(int64_t a, int64_t b) {
  int64_t n;
  if (a == 1) return b;
  if (b == 1) return a;
  return a >= 0 && b >= 0 && ox_mul_i64_ok(a, b, &n) ? n : -1;
}

int64_t ox_dim_add(int64_t a, int64_t b) {
  int64_t n;
  if (a == 0) return b;
  if (b == 0) return a;
  return a >= 0 && b >= 0 && ox_add_i64_ok(a, b, &n) ? n : -1;
}

bool ox_axis_ok(int64_t axis, int rank, int *out_axis) {
  if (axis < -(int64_t)rank || axis >= rank) return false;
  *out_axis = (int)(axis < 0 ? axis + rank : axis);
  return true;
}

ox_status *ox_axis_split(const ox_shape *s, int64_t axis, int64_t *outer, int64_t *at, int64_t *inner) {
  int k;
  if (!ox_axis_ok(axis, s->rank, &k))
    return ox_fail(OX_INVALID_MODEL, "axis %lld is outside rank %d", (long long)axis, (int)s->rank);
  *outer = ox_shape_span(s, 0, k), *at = s->dim[k], *inner = ox_shape_span(s, k + 1, s->rank);
  return NULL;
}

ox_status *ox_shape_broadcast(const ox_shape *a, const ox_shape *b, ox_shape *out) {
  if (a->rank < 0 || b->rank < 0) {
    *out = ox_shape_unknown();
    return NULL;
  }
  ox_shape r = {.rank = a->rank > b->rank ? a->rank : b->rank};
  for (int i = 0; i < r.rank; i++) {
    int ia = i - (r.rank - a->rank), ib = i - (r.rank - b->rank);
    int64_t da = ia < 0 ? 1 : a->dim[ia], db = ib < 0 ? 1 : b->dim[ib];
    if (da == db || db == 1) {
      r.dim[i] = da;
    } else if (da == 1) {
      r.dim[i] = db;
    } else if (da < 0 || db < 0) {
      /* one side unknown: a known extent above 1 wins, since the other must equal it or be 1 */
      r.dim[i] = da > 1 ? da : db > 1 ? db : -1;
    } else {
      char ta[OX_SHAPE_TEXT], tb[OX_SHAPE_TEXT];
      return ox_fail(OX_SHAPE_MISMATCH, "shapes %s and %s do not broadcast", ox_shape_text(a, ta), ox_shape_text(b, tb));
    }
  }
  *out = r;
  return NULL;
}

void ox_shape_strides(const ox_shape *s, int64_t *strides) {
  int64_t step = 1;
  for (int i = s->rank - 1; i >= 0; i--) {
    strides[i] = step;
    step *= s->dim[i];
  }
}

const char *ox_shape_text(const ox_shape *s, char *buf) {
  if (s->rank < 0) return strcpy(buf, "[...]");
  size_t n = 0;
  buf[n++] = '[';
  for (int i = 0; i < s->rank; i++) {
    if (i) buf[n++] = ',';
    if (s->dim[i] >= 0)
      n += (size_t)sprintf(buf + n, "%lld", (long long)s->dim[i]);
    else if (s->dim[i] == -1)
      buf[n++] = '?';
    else
      n += (size_t)sprintf(buf + n, "s%lld", (long long)(-2 - s->dim[i]));
  }
  buf[n++] = ']', buf[n] = 0;
  return buf;
}

ox_tensor ox_tensor_view(uint32_t dtype, const ox_shape *shape, void *data) {
  ox_tensor t = {.kind = OX_TENSOR, .dtype = dtype, .data = data, .shape = *shape};
  if (!ox_dtype_bytes(dtype, ox_shape_count(shape), &t.bytes)) t.bytes = 0;
  return t;
}

ox_shape ox_shape_channels_last(const ox_shape *s) {
  ox_shape t = *s;
  for (int d = 1; s->rank >= 3 && d < s->rank; d++) t.dim[d] = s->dim[d + 1 < s->rank ? d + 1 : 1];
  return t;
}

ox_shape ox_shape_channels_first(const ox_shape *s) {
  ox_shape t = *s;
  for (int d = 1; s->rank >= 3 && d < s->rank; d++) t.dim[d] = s->dim[d == 1 ? s->rank - 1 : d - 1];
  return t;
}
