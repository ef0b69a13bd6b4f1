/* SPDX-License-Identifier: Apache-2.0
 * ops/einsum/multiply.c - runs of the result, each a run or an element of either operand. */
#include "ops/einsum/multiply.h"

#include "base/cksize.h"
#include "ops/shared/tiles.h"

static bool sums(const ein_view *a, const ein_view *b, const ein_term *out) {
  bool kept[EIN_LABELS] = {false};
  for (int d = 0; d < out->rank; d++) kept[out->label[d]] = true;
  for (int l = 0; l < EIN_LABELS; l++)
    if ((a->has[l] || b->has[l]) && !kept[l]) return true;
  return false;
}

static void add_dim(ein_multiply *m, int64_t dim, int64_t a, int64_t b) {
  int last = m->rank - 1;
  if (dim == 1) return;
  if (last >= 0 && a == m->a[last] * m->dim[last] && b == m->b[last] * m->dim[last])
    m->dim[last] *= dim;
  else
    m->dim[m->rank] = dim, m->a[m->rank] = a, m->b[m->rank++] = b;
}

bool ein_multiply_plan(ox_kernel_ctx *c, ein_multiply *m, const ein_view *a, const ein_view *b, const ein_term *out,
                       const int64_t *size) {
  enum { LEAST_RUN = 16, LEAST_BY_ONE = 64 /* shorter runs are faster by a matrix product */ };
  m->mul = ox_binary_select(c->isa)->fn[OX_BIN_MUL][c->in[0]->dtype];
  if (sums(a, b, out) || !m->mul) return false;
  m->count = 1;
  for (int d = out->rank - 1; d >= 0; d--) {
    int l = out->label[d];
    if (!ox_mul_i64_ok(m->count, size[l], &m->count)) return false;
    add_dim(m, size[l], a->stride[l], b->stride[l]);
  }
  if (m->rank == 0 || m->count == 0 || m->dim[0] < LEAST_RUN || m->a[0] > 1 || m->b[0] > 1) return false;
  if (m->a[0] == 0 && m->b[0] == 0) return false;
  m->scalar = (m->a[0] ? 0 : OX_BIN_A_SCALAR) | (m->b[0] ? 0 : OX_BIN_B_SCALAR);
  if (m->scalar && m->dim[0] < LEAST_BY_ONE) return false;
  m->per_tile = OX_TILE_CHEAP;
  c->form = "element by element";
  c->n_stages = 1, c->n_tiles[0] = ox_tile_count(m->count, m->per_tile);
  return true;
}

void ein_multiply_run(const ox_kernel_ctx *c, const ein_multiply *m, ox_range tiles) {
  size_t elem = ox_dtype_bits(c->in[0]->dtype) / 8;
  int64_t begin, end;
  ox_tile_span(tiles, m->per_tile, m->count, &begin, &end);
  while (begin < end) {
    int64_t first = begin % m->dim[0], rest = begin / m->dim[0], n = OX_MIN(m->dim[0] - first, end - begin);
    int64_t a = first * m->a[0], b = first * m->b[0];
    for (int d = 1; d < m->rank; rest /= m->dim[d++]) a += rest % m->dim[d] * m->a[d], b += rest % m->dim[d] * m->b[d];
    m->mul((const char *)c->in[0]->data + (size_t)a * elem, (const char *)c->in[1]->data + (size_t)b * elem,
           (char *)c->out[0]->data + (size_t)begin * elem, (size_t)n, m->scalar);
    begin += n;
  }
}
