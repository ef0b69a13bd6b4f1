/* SPDX-License-Identifier: Apache-2.0
 * ops/attention/attn_common.c - see attn_common.h. */
#include "ops/attention/attn_common.h"

#include <string.h>

ox_attn_mat ox_attn_bnsh(const ox_tensor *t, int64_t heads, int64_t rows, int64_t width) {
  return (ox_attn_mat){t->data, t->dtype, heads * (rows * width), rows * width, width};
}

ox_attn_mat ox_attn_bsnh(const ox_tensor *t, int64_t heads, int64_t rows, int64_t width) {
  return (ox_attn_mat){t->data, t->dtype, rows * (heads * width), width, heads * width};
}

ox_status *ox_attn_bias_of(const ox_tensor *t, const char *name, int64_t batch, int64_t heads, int64_t rows,
                           int64_t keys, ox_attn_bias *out) {
  const int64_t want[4] = {batch, heads, rows, keys};
  int64_t dim[4] = {1, 1, 1, 1}, stride[4], at = 1;
  char text[OX_SHAPE_TEXT];
  bool ok = t->shape.rank <= 4;
  for (int i = 0; ok && i < t->shape.rank; i++) dim[4 - t->shape.rank + i] = t->shape.dim[i];
  for (int i = 3; i >= 0; i--) {
    ok = ok && (i == 3 ? dim[i] <= want[i] : dim[i] == 1 || dim[i] == want[i]);
    stride[i] = dim[i] == 1 && i < 3 ? 0 : at;
    at *= dim[i];
  }
  if (!ok)
    return ox_fail(OX_SHAPE_MISMATCH, "%s %s does not broadcast to [%lld,%lld,%lld,%lld]", name,
                   ox_shape_text(&t->shape, text), (long long)batch, (long long)heads, (long long)rows,
                   (long long)keys);
  *out = (ox_attn_bias){t->data, t->dtype, stride[0], stride[1], stride[2], 1, dim[3], 0};
  return NULL;
}

static char *row_at(const ox_attn_mat *m, int64_t b, int64_t h, int64_t row) {
  return (char *)m->p + (size_t)(b * m->batch + h * m->head + row * m->row) * ox_attn_item(m->dtype);
}

void ox_attn_append(const attn_append *a, int64_t b, int64_t h) {
  size_t bytes = (size_t)a->width * ox_attn_item(a->to.dtype);
  char *first = row_at(&a->to, b, h, 0), *past = row_at(&a->past, b, h, 0);
  if (a->n_past && first != past) memcpy(first, past, (size_t)a->n_past * bytes);
  for (int64_t i = 0; bytes && i < a->n_fresh; i++)
    memcpy(row_at(&a->to, b, h, a->n_past + i), row_at(&a->fresh, b, h, i), bytes);
}

void ox_attn_book(ox_kernel_ctx *c, uint32_t stage, const ox_attn *a) {
  const ox_attn_variant *v = ox_attn_select(a->q.dtype, c->isa);
  size_t scratch = ox_attn_scratch(a, v);
  c->n_stages = OX_MAX(c->n_stages, stage + 1);
  c->n_tiles[stage] = ox_attn_tiles(a, v);
  c->scratch_per_worker = OX_MAX(c->scratch_per_worker, scratch);
}

bool ox_attn_tile_is_head(const ox_kernel_ctx *c, const ox_attn *a) {
  return ox_attn_tiles(a, ox_attn_select(a->q.dtype, c->isa)) == a->batch * a->kv_heads;
}

void ox_attn_run_tiles(const ox_kernel_ctx *c, const ox_attn *a, ox_range tiles, void *scratch) {
  const ox_attn_variant *v = ox_attn_select(a->q.dtype, c->isa);
  for (int64_t t = tiles.begin; t < tiles.end; t++) v->run(a, t, scratch);
}
