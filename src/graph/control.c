/* SPDX-License-Identifier: Apache-2.0
 * graph/control.c - values and stacks of operators with bodies, in the host's buffers. */
#include "graph/control.h"

#include <string.h>

#include "base/cksize.h"
#include "base/macros.h"

void *ox_control_array(const ox_control_ctx *c, size_t n, size_t item_bytes) {
  size_t bytes;
  return ox_mul_ok(n, item_bytes, &bytes) ? ox_ctx_run_alloc(c->node, bytes) : NULL;
}

bool ox_control_size(ox_tensor *t) {
  int64_t n = ox_shape_count(&t->shape);
  return n >= 0 && ox_dtype_bytes(t->dtype, n, &t->bytes) && t->bytes <= SIZE_MAX / 8;
}

ox_status *ox_control_room(const ox_control_ctx *c, ox_tensor *t) {
  if (!ox_control_size(t)) {
    char text[OX_SHAPE_TEXT];
    return ox_fail(OX_LIMIT, "a value of type %s%s is too large", ox_dtype_name(t->dtype),
                   ox_shape_text(&t->shape, text));
  }
  t->data = c->host->take(c->control, t->bytes);
  return t->data ? NULL : ox_fail(OX_OUT_OF_MEMORY, "no memory for %zu bytes", t->bytes);
}

ox_status *ox_control_copy(const ox_control_ctx *c, const ox_tensor *from, ox_tensor *to) {
  *to = *from;
  if (from->kind != OX_TENSOR) return NULL;
  to->data = c->host->take(c->control, from->bytes);
  if (!to->data) return ox_fail(OX_OUT_OF_MEMORY, "no memory for %zu bytes", from->bytes);
  if (from->bytes) memcpy(to->data, from->data, from->bytes);
  return NULL;
}

void ox_control_drop(const ox_control_ctx *c, const ox_tensor *t) {
  if (t->kind == OX_TENSOR) c->host->give(c->control, t->data);
}

/* Elements of less than a byte follow one another bit by bit, low bits first; those of 6 bits lie across bytes. */
static unsigned get_packed(const uint8_t *p, unsigned bits, int64_t i) {
  int64_t at = i * bits;
  unsigned low = (unsigned)(at % 8), v = p[at / 8] >> low;
  if (low + bits > 8) v |= (unsigned)p[at / 8 + 1] << (8 - low);
  return v & ((1U << bits) - 1);
}

static void put_packed(uint8_t *p, unsigned bits, int64_t i, unsigned v) {
  int64_t at = i * bits;
  unsigned low = (unsigned)(at % 8), mask = ((1U << bits) - 1) << low;
  p[at / 8] = (uint8_t)((p[at / 8] & ~mask) | v << low);
  if (low + bits > 8) p[at / 8 + 1] = (uint8_t)((p[at / 8 + 1] & ~(mask >> 8)) | v >> (8 - low));
}

void ox_control_move(uint32_t dtype, void *dst, int64_t to, const void *src, int64_t from, int64_t n) {
  unsigned bits = ox_dtype_bits(dtype);
  const uint8_t *s = src;
  if (bits >= 8) {
    size_t item = bits / 8;
    if (n) memcpy((char *)dst + (size_t)to * item, s + (size_t)from * item, (size_t)n * item);
    return;
  }
  int64_t group = bits == 6 ? 4 : 8 / bits; /* elements that fill whole bytes, and are moved as such */
  int64_t whole = to % group || from % group ? 0 : n / group * group;
  if (whole) memcpy((char *)dst + to * bits / 8, s + from * bits / 8, (size_t)(whole * bits / 8));
  for (int64_t i = whole; i < n; i++) put_packed(dst, bits, to + i, get_packed(s, bits, from + i));
}

/* ---- stacks ---- */

/* A trip count is only a bound, so what is beyond FIRST_ROOM is not asked for before it is filled: memory follows the
 * slices that came, at most twice their number. */
enum { FIRST_ROOM = 64 << 10, FIRST_SLICES = 16 };

static ox_status *first_slice(const ox_control_ctx *c, ox_stack *k, const ox_tensor *slice, int64_t most) {
  int64_t few = OX_MAX(FIRST_ROOM / (int64_t)OX_MAX(slice->bytes, 1), FIRST_SLICES);
  k->t = *slice, k->slice_n = ox_shape_count(&slice->shape), k->t.data = NULL;
  if (!ox_mul_ok(slice->bytes, (size_t)OX_MIN(most, few), &k->capacity))
    return ox_fail(OX_LIMIT, "scan output too large");
  k->t.data = c->host->take(c->control, k->capacity);
  return k->t.data ? NULL : ox_oom();
}

/* Bytes of |n| slices; packed ones share bytes. */
static bool stack_bytes(const ox_stack *k, int64_t n, size_t *bytes) {
  int64_t count;
  return ox_mul_i64_ok(k->slice_n, n, &count) && ox_dtype_bytes(k->t.dtype, count, bytes);
}

static ox_status *grow(const ox_control_ctx *c, ox_stack *k, size_t used, int64_t most) {
  size_t capacity, all;
  if (!ox_mul_ok(k->capacity, 2, &capacity)) return ox_fail(OX_LIMIT, "scan output too large");
  /* not beyond the most there are, which a body may exceed all the same */
  if (stack_bytes(k, most, &all) && all > k->capacity) capacity = OX_MIN(capacity, all);
  void *grown = c->host->take(c->control, capacity);
  if (!grown) return ox_oom();
  if (used) memcpy(grown, k->t.data, used);
  c->host->give(c->control, k->t.data);
  k->t.data = grown, k->capacity = capacity;
  return NULL;
}

ox_status *ox_stack_push(const ox_control_ctx *c, ox_stack *k, const ox_tensor *slice, int64_t most) {
  if (slice->kind != OX_TENSOR) return ox_fail(OX_INVALID_MODEL, "a scan output must be a tensor");
  if (!k->n) OX_TRY(first_slice(c, k, slice, most));
  if (k->t.dtype != slice->dtype || !ox_shape_equal(&k->t.shape, &slice->shape)) {
    char was[OX_SHAPE_TEXT], is[OX_SHAPE_TEXT];
    return ox_fail(OX_SHAPE_MISMATCH, "a scan output has shape %s after %lld slices of %s",
                   ox_shape_text(&slice->shape, is), (long long)k->n, ox_shape_text(&k->t.shape, was));
  }
  size_t used, needed;
  if (!stack_bytes(k, k->n, &used) || !stack_bytes(k, k->n + 1, &needed))
    return ox_fail(OX_LIMIT, "scan output too large");
  if (needed > k->capacity) OX_TRY(grow(c, k, used, most));
  if (needed > used) ((char *)k->t.data)[needed - 1] = 0; /* the bits behind the last packed element */
  ox_control_move(slice->dtype, k->t.data, k->n * k->slice_n, slice->data, 0, k->slice_n);
  k->n++;
  return NULL;
}

ox_status *ox_stack_finish(const ox_control_ctx *c, uint32_t i, ox_stack *k, const ox_type *body_output) {
  ox_tensor *out = ox_control_out(c, i);
  if (!out) {
    c->host->give(c->control, k->t.data);
    return NULL;
  }
  if (!k->n) { /* no slice: the body's type is all there is; unknown dimensions become 0 */
    k->t = (ox_tensor){.kind = OX_TENSOR, .dtype = body_output->dtype, .shape = body_output->shape};
    if (k->t.shape.rank < 0) k->t.shape.rank = 0;
    for (int d = 0; d < k->t.shape.rank; d++)
      if (k->t.shape.dim[d] < 0) k->t.shape.dim[d] = 0;
    k->t.data = c->host->take(c->control, 0);
    if (!k->t.data) return ox_oom();
  }
  ox_shape slice = k->t.shape;
  if (slice.rank >= OX_MAX_RANK) return ox_fail(OX_LIMIT, "a scan output has rank %d", (int)slice.rank + 1);
  *out = k->t;
  out->shape.rank = slice.rank + 1, out->shape.dim[0] = k->n;
  for (int d = 0; d < slice.rank; d++) out->shape.dim[d + 1] = slice.dim[d];
  return ox_control_size(out) ? NULL : ox_fail(OX_LIMIT, "a scan output is too large");
}

/* ---- what iterations leave ---- */

ox_status *ox_survivors_init(const ox_control_ctx *c, ox_survivors *v, ox_tensor *values, uint32_t n_values,
                             const ox_stack *stacks, uint32_t n_stacks) {
  *v = (ox_survivors){.stacks = stacks, .n_values = n_values, .n_stacks = n_stacks};
  v->values = ox_control_array(c, (size_t)n_values + n_stacks, sizeof *v->values);
  ox_tensor *views = ox_control_array(c, n_stacks, sizeof *views); /* of kind NONE until there is something to see */
  if (!v->values || !views) return ox_oom();
  for (uint32_t i = 0; i < n_values; i++) v->values[i] = &values[i];
  for (uint32_t i = 0; i < n_stacks; i++) v->values[n_values + i] = &views[i];
  c->host->mark(c->control, &v->mark);
  return NULL;
}

ox_status *ox_survivors_keep(const ox_control_ctx *c, ox_survivors *v) {
  for (uint32_t i = 0; i < v->n_stacks; i++) {
    const ox_stack *k = &v->stacks[i];
    if (k->t.dtype != OX_STRING || !k->n) continue; /* other slices refer to nothing */
    ox_tensor *view = v->values[v->n_values + i];
    *view = k->t;
    if (!stack_bytes(k, k->n, &view->bytes)) return ox_fail(OX_LIMIT, "scan output too large");
  }
  return c->host->collect(c->control, &v->mark, v->values, v->n_values + v->n_stacks);
}
