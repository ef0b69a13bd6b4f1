/* SPDX-License-Identifier: Apache-2.0
 * ops/sparse_attention_test.c - prompts and single tokens, of even and uneven lengths, packed or not, rotated or not,
 * against doubles over a dense mask. ONNX Runtime 1.31 gives the same where all entries are equally long. */
#include <string.h>

#include "support/typed.h"

#define DIMS(...) ((const int64_t[]){__VA_ARGS__})
enum { BATCH = 2, HEADS = 4, KV = 2, D = 16, CACHE = 64, BLOCK = 16, BLOCKS = CACHE / BLOCK, LAYOUTS = 2, MOST = 10 };
/* blocks that a block of queries sees, and the same as rows and columns */
static const bool sees[LAYOUTS][BLOCKS][BLOCKS] = {{{1}, {1, 1}, {0, 1, 1}, {0, 1, 1, 1}},
                                                   {{1}, {0, 1}, {1, 0, 1}, {1, 0, 0, 1}}};
static const int32_t rows[LAYOUTS][BLOCKS + 1] = {{0, 1, 3, 5, 8}, {0, 1, 2, 4, 6}};
static const int32_t columns[LAYOUTS][MOST] = {{0, 0, 1, 1, 2, 1, 2, 3, -1, -1}, {0, 1, 0, 2, 0, 3, -1, -1, -1, -1}};

typedef struct form {
  int64_t len, total;
  int32_t lens[BATCH];
  bool packed, rotary, interleaved;
  float scale;
} form;

typedef struct parts {
  const ox_tensor *q, *k, *v, *past_k, *past_v, *cos, *sin;
} parts;

/* Element |e| of head |h| of token |t| before rotation; part 0: query, 1: key, 2: value. */
static double fresh(const form *f, const parts *p, int part, int64_t b, int64_t t, int64_t h, int64_t e) {
  static const int64_t skip[] = {0, HEADS, HEADS + KV};
  if (f->packed) return typed_at(p->q, ((b * f->len + t) * (HEADS + 2 * KV) + skip[part] + h) * D + e);
  const ox_tensor *from[] = {p->q, p->k, p->v};
  return typed_at(from[part], ((b * f->len + t) * (part ? KV : HEADS) + h) * D + e);
}

static double turned(const form *f, const parts *p, int part, int64_t b, int64_t t, int64_t h, int64_t e, int64_t at) {
  if (!f->rotary) return fresh(f, p, part, b, t, h, e);
  int64_t pair = f->interleaved ? e / 2 : e % (D / 2), first = f->interleaved ? e / 2 * 2 : pair;
  int64_t second = f->interleaved ? first + 1 : pair + D / 2;
  double c = typed_at(p->cos, at * (D / 2) + pair), s = typed_at(p->sin, at * (D / 2) + pair);
  double x = fresh(f, p, part, b, t, h, first), y = fresh(f, p, part, b, t, h, second);
  return e == first ? x * c - y * s : x * s + y * c;
}

static int64_t begins(const form *f, int64_t b) { return f->len == f->total ? 0 : f->lens[b] - f->len; }

/* Element |e| of key (part 1) or value at place |k|. */
static double cached(const form *f, const parts *p, int part, int64_t b, int64_t h, int64_t k, int64_t e) {
  int64_t t = k - begins(f, b);
  if (t < 0 || t >= f->len) return typed_at(part == 1 ? p->past_k : p->past_v, ((b * KV + h) * CACHE + k) * D + e);
  return part == 1 ? turned(f, p, 1, b, t, h, e, k) : fresh(f, p, 2, b, t, h, e);
}

static void check_row(const form *f, const parts *p, const ox_tensor *out, int64_t b, int64_t t, int64_t h) {
  int64_t place = begins(f, b) + t;
  double w[CACHE], most = -INFINITY, sum = 0;
  for (int64_t k = 0; k <= place; k++) {
    w[k] = -INFINITY;
    if (!sees[h % LAYOUTS][place / BLOCK][k / BLOCK]) continue;
    w[k] = 0;
    for (int64_t e = 0; e < D; e++)
      w[k] += turned(f, p, 0, b, t, h, e, place) * cached(f, p, 1, b, h / (HEADS / KV), k, e);
    w[k] *= f->scale != 0 ? (double)f->scale : 1 / sqrt(D);
    most = fmax(most, w[k]);
  }
  for (int64_t k = 0; k <= place; k++) sum += w[k] = exp(w[k] - most);
  for (int64_t e = 0; e < D; e++) {
    double want = 0;
    for (int64_t k = 0; k <= place; k++) want += w[k] / sum * cached(f, p, 2, b, h / (HEADS / KV), k, e);
    typed_near(out, ((b * f->len + t) * HEADS + h) * D + e, want, 8);
  }
}

static ox_status *run(one_node *n, const form *f, uint32_t dtype, const int32_t *cols, parts *p) {
  int32_t total = (int32_t)f->total;
  one_node_init(n, "com.microsoft", "SparseAttention", 1, 3);
  one_node_int(n, "num_heads", HEADS), one_node_int(n, "kv_num_heads", KV);
  one_node_int(n, "sparse_block_size", BLOCK), one_node_int(n, "do_rotary", f->rotary);
  one_node_int(n, "rotary_interleaved", f->interleaved);
  if (f->scale != 0) one_node_float(n, "scale", f->scale);
  p->q = typed_input(n, dtype, 3, DIMS(BATCH, f->len, (HEADS + (f->packed ? 2 * KV : 0)) * D), 2);
  if (f->packed) {
    one_node_input(n, 0, -1, NULL, NULL), one_node_input(n, 0, -1, NULL, NULL);
  } else {
    p->k = typed_input(n, dtype, 3, DIMS(BATCH, f->len, KV * D), 2);
    p->v = typed_input(n, dtype, 3, DIMS(BATCH, f->len, KV * D), 2);
  }
  p->past_k = typed_input(n, dtype, 4, DIMS(BATCH, KV, CACHE, D), 2);
  p->past_v = typed_input(n, dtype, 4, DIMS(BATCH, KV, CACHE, D), 2);
  one_node_input(n, OX_I32, 2, DIMS(LAYOUTS, BLOCKS + 1), rows);
  one_node_input(n, OX_I32, 2, DIMS(LAYOUTS, MOST), cols);
  one_node_input(n, OX_I32, 1, DIMS(1), &total), one_node_input(n, OX_I32, 1, DIMS(BATCH), f->lens);
  if (f->rotary) {
    p->cos = typed_input(n, dtype, 2, DIMS(CACHE, D / 2), 1);
    p->sin = typed_input(n, dtype, 2, DIMS(CACHE, D / 2), 1);
  }
  n->run_tiles = 1;
  return one_node_run(n);
}

static void test_every_form(void **state) {
  (void)state;
  static const form forms[] = {{20, 20, {20, 13}, false, false, false, 0.75f}, {1, 1, {1, 1}, false, false, false, 0},
                               {33, 33, {33, 33}, true, false, false, 0},      {1, 50, {50, 18}, false, true, false, 0},
                               {64, 64, {64, 2}, true, true, true, 0},         {3, 40, {40, 3}, false, true, true, 0},
                               {1, 64, {64, 1}, true, true, false, 1}};
  static const uint32_t types[] = {OX_F32, OX_F16, OX_BF16};
  for (size_t i = 0; i < OX_COUNT(forms); i++)
    for (size_t t = 0; t < OX_COUNT(types); t++) {
      one_node n;
      parts p;
      const form *f = &forms[i];
      CHECK_OK(run(&n, f, types[t], columns[0], &p));
      for (int64_t b = 0; b < BATCH; b++) {
        for (int64_t at = 0; at < KV * CACHE * D; at++) {
          typed_near(&n.out[1], b * KV * CACHE * D + at, cached(f, &p, 1, b, at / D / CACHE, at / D % CACHE, at % D),
                     2);
          typed_near(&n.out[2], b * KV * CACHE * D + at, cached(f, &p, 2, b, at / D / CACHE, at / D % CACHE, at % D),
                     0.5);
        }
        for (int64_t row = 0; row < f->len; row++)
          for (int64_t h = 0; h < HEADS && types[t] == OX_F32; h++) check_row(f, &p, &n.out[0], b, row, h);
      }
      one_node_deinit(&n);
    }
}

static void test_bad_content(void **state) {
  (void)state;
  static const form bad[] = {{1, 65, {65, 1}, false, false, false, 0},
                             {1, 5, {6, 1}, false, false, false, 0},
                             {1, 5, {5, 0}, false, false, false, 0},
                             {3, 5, {5, 2}, false, false, false, 0},
                             {1, -1, {1, 1}, false, false, false, 0}};
  for (size_t i = 0; i < OX_COUNT(bad); i++) {
    one_node n;
    parts p;
    CHECK_FAILS(run(&n, &bad[i], OX_F32, columns[0], &p), OX_INVALID_ARGUMENT, "SparseAttention: entry");
    one_node_deinit(&n);
  }
  static const int32_t wild[] = {BLOCKS, -1, INT32_MAX};
  static const form good = {1, 1, {1, 1}, false, false, false, 0};
  for (size_t i = 0; i < OX_COUNT(wild); i++) {
    int32_t cols[LAYOUTS][MOST];
    one_node n;
    parts p;
    memcpy(cols, columns, sizeof cols);
    cols[0][0] = wild[i];
    CHECK_FAILS(run(&n, &good, OX_F32, cols[0], &p), OX_INVALID_ARGUMENT, "block_col_indices");
    one_node_deinit(&n);
  }
}

/* More keys than there are before the query: their scores would not fit. */
static void test_a_block_twice(void **state) {
  (void)state;
  static const form second_block = {1, BLOCK + 1, {BLOCK + 1, 1}, false, false, false, 0};
  int32_t cols[LAYOUTS][MOST];
  one_node n;
  parts p;
  memcpy(cols, columns, sizeof cols);
  cols[0][rows[0][1] + 1] = cols[0][rows[0][1]];
  CHECK_FAILS(run(&n, &second_block, OX_F32, cols[0], &p), OX_INVALID_ARGUMENT, "twice");
  one_node_deinit(&n);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_form),
      cmocka_unit_test(test_bad_content),
      cmocka_unit_test(test_a_block_twice),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
