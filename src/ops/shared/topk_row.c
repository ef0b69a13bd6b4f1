/* SPDX-License-Identifier: Apache-2.0
 * ops/shared/topk_row.c - see topk_row.h. Elements are compared by keys of 64 bits. */
#include "ops/shared/topk_row.h"

#include <math.h>
#include <string.h>

#include "kern/quant/convert.h"
#include "kern/reduce/reduce.h"

/* The keys of |n| elements from |first| on. */
static void load_keys(const ox_topk_row *r, int64_t first, int64_t n, uint64_t *key) {
  enum { BLOCK = 256 };
  const ox_convert *cv = ox_convert_select(r->c->isa);
  const ox_tensor *x = r->c->in[0];
  uint64_t flip = r->below ? UINT64_MAX : 0, sign = x->dtype == OX_U64 ? 0 : (uint64_t)1 << 63;
  int64_t at = r->base + first * r->pitch;
  for (int64_t i = 0; i < n; i += BLOCK) {
    int64_t m = OX_MIN(n - i, BLOCK), calls = r->pitch == 1 ? 1 : m;
    size_t len = r->pitch == 1 ? (size_t)m : 1;
    if (ox_dtype_is_float(x->dtype)) {
      double f[BLOCK];
      for (int64_t k = 0; k < calls; k++)
        cv->load_f64[x->dtype](x->data, (size_t)(at + (i + k) * r->pitch), len, f + k);
      for (int64_t k = 0; k < m; k++) key[i + k] = key_f64(f[k]) ^ flip;
    } else {
      int64_t v[BLOCK];
      for (int64_t k = 0; k < calls; k++)
        cv->load_i64[x->dtype](x->data, (size_t)(at + (i + k) * r->pitch), len, v + k);
      for (int64_t k = 0; k < m; k++) key[i + k] = (uint64_t)v[k] ^ sign ^ flip;
    }
  }
}

/* The first element from |i| on that may be better than element |worst|; none before it is. */
static int64_t next_better(const ox_topk_row *r, int64_t i, int64_t end, int64_t worst) {
  const ox_tensor *x = r->c->in[0];
  size_t size = ox_dtype_bits(x->dtype) / 8;
  const char *row = (const char *)x->data + (size_t)r->base * size, *bound = row + (size_t)worst * size;
  const ox_reduce_table *t = ox_reduce_select(r->c->isa);
  if (r->pitch != 1 || !t->next_better[x->dtype]) return i;
  if (x->dtype == OX_F64 && isnan(*(const double *)(const void *)bound)) return i; /* nothing is below it */
  return i + (int64_t)t->next_better[x->dtype](row + (size_t)i * size, (size_t)(end - i), bound, r->below);
}

/* A few of a row, in order, by insertion. Where several in turn are no better, the next one that is is looked for. */
enum { FEW = 16 };
#define FEW_OF(T, key_of)                                                          \
  static void few_##T(const ox_topk_row *r, const T *x, int64_t k, entry *first) { \
    enum { WORSE = 8 };                                                            \
    uint64_t flip = r->below ? UINT64_MAX : 0;                                     \
    for (int64_t i = 0, worse = 0; i < r->n; i++) {                                \
      if (worse == WORSE) i = next_better(r, i, r->n, first[k - 1].at), worse = 0; \
      if (i == r->n) break;                                                        \
      uint64_t key = key_of(x[i]) ^ flip;                                          \
      int64_t at = OX_MIN(i, k - 1);                                               \
      if (i >= k && key <= first[at].key) {                                        \
        worse++;                                                                   \
        continue;                                                                  \
      }                                                                            \
      for (; at > 0 && first[at - 1].key < key; at--) first[at] = first[at - 1];   \
      first[at] = (entry){key, i}, worse = 0;                                      \
    }                                                                              \
  }
#define KEY_I64(v) ((uint64_t)(int64_t)(v) ^ (uint64_t)1 << 63)
FEW_OF(double, key_f64)
FEW_OF(int64_t, KEY_I64)
FEW_OF(int32_t, KEY_I64)
FEW_OF(uint8_t, KEY_I64)
FEW_OF(int8_t, KEY_I64)

/* False: another type, or too many. */
static bool find_few(const ox_topk_row *r, int64_t k, entry *first) {
  const void *x = r->c->in[0]->data;
  if (r->pitch != 1 || k > FEW) return false;
#define CASE(dtype, T)                            \
  case dtype:                                     \
    few_##T(r, (const T *)x + r->base, k, first); \
    return true;
  switch (r->c->in[0]->dtype) {
    CASE(OX_F64, double)
    CASE(OX_I64, int64_t)
    CASE(OX_I32, int32_t)
    CASE(OX_U8, uint8_t)
    CASE(OX_I8, int8_t)
    default:
      return false;
  }
#undef CASE
}

static void find_in_heap(const ox_topk_row *r, int64_t k, entry *h) {
  enum { LONG = 256, NEAR = 8 };
  uint64_t key[LONG];
  for (int64_t i = 0; i < r->n && !ox_ctx_stopped(r->c);) {
    if (i >= k) i = next_better(r, i, r->n, h[0].at);
    int64_t end = OX_MIN(i + (i < k || r->pitch != 1 ? LONG : NEAR), r->n);
    load_keys(r, i, end - i, key);
    for (int64_t first = i; i < end; i++) offer(r->c, h, k, i, (entry){key[i - first], i});
  }
}

/* Radix sort, the lowest bits first, without digits in which all keys agree; stable. */
static entry *sort_entries(const ox_kernel_ctx *c, entry *from, entry *to, int64_t n) {
  enum { MOST_BITS = 11, FEW_BITS = 8, MANY = 4096 };
  int bits = n < MANY ? FEW_BITS : MOST_BITS;
  uint64_t differ = 0, mask = ((uint64_t)1 << bits) - 1;
  for (int64_t i = 1; i < n; i++) differ |= from[i].key ^ from[0].key;
  for (int shift = 0; shift < 64 && !ox_ctx_stopped(c); shift += bits) {
    if (!(differ >> shift & mask)) continue;
    uint32_t bin[1 << MOST_BITS] = {0}, at = 0;
    for (int64_t i = 0; i < n; i++) bin[~from[i].key >> shift & mask]++; /* large keys first */
    for (uint64_t b = 0; b <= mask; b++) {
      uint32_t m = bin[b];
      bin[b] = at, at += m;
    }
    for (int64_t i = 0; i < n; i++) to[bin[~from[i].key >> shift & mask]++] = from[i];
    entry *done = to;
    to = from, from = done;
  }
  return from;
}

static void put_entries(const ox_topk_row *r, const entry *e, int64_t k, int64_t out) {
  const ox_tensor *x = r->c->in[0];
  size_t size = ox_dtype_bits(x->dtype) / 8;
  for (int64_t i = 0; i < k; i++) {
    size_t to = (size_t)(out + i * r->pitch), from = (size_t)(r->base + e[i].at * r->pitch);
    if (ox_ctx_wants(r->c, 1)) ((int64_t *)r->c->out[1]->data)[to] = e[i].at;
    if (ox_ctx_wants(r->c, 0))
      memcpy((char *)r->c->out[0]->data + to * size, (const char *)x->data + from * size, size);
  }
}

static void sort_row(const ox_topk_row *r, int64_t k, entry *both, int64_t out) {
  enum { BLOCK = 256 };
  uint64_t key[BLOCK];
  for (int64_t i = 0; i < r->n; i += BLOCK) {
    int64_t m = OX_MIN(r->n - i, BLOCK);
    load_keys(r, i, m, key);
    for (int64_t j = 0; j < m; j++) both[i + j] = (entry){key[j], i + j};
  }
  put_entries(r, sort_entries(r->c, both, both + r->n, r->n), k, out);
}

void ox_topk_row_best(const ox_topk_row *r, int64_t k, bool sort, int64_t out, entry *room) {
  size_t size = ox_dtype_bits(r->c->in[0]->dtype) / 8;
  if (sort) {
    sort_row(r, k, room, out);
    return;
  }
  if (find_few(r, k, room)) {
    put_entries(r, room, k, out);
    return;
  }
  find_in_heap(r, k, room);
  if (ox_ctx_stopped(r->c)) return; /* the heap may have gaps */
  empty_heap(r->c, room, k, (const char *)r->c->in[0]->data + (size_t)r->base * size, size, r->pitch, out, r->pitch);
}
