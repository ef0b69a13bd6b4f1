/* SPDX-License-Identifier: Apache-2.0
 * ops/quantize_test.c - QuantizeLinear and DequantizeLinear with scales for all, for an axis and for blocks of either
 * axis, the last of them short, against plain rounding, on every instruction set. */
#include <math.h>
#include <string.h>

#include "support/check.h"
#include "support/levels.h"
#include "support/one_node.h"

enum { ROWS = 21, COLUMNS = 613, ALL = ROWS * COLUMNS };

static const struct type {
  uint32_t dtype;
  int bits, low;
} types[] = {{OX_U8, 8, 0}, {OX_I8, 8, -128}, {OX_U16, 16, 0}, {OX_I16, 16, -32768},
             {OX_U4, 4, 0}, {OX_I4, 4, -8},   {OX_U2, 2, 0},   {OX_I2, 2, -2}};

static const struct grain {
  const char *name;
  int64_t axis, block;
  int rank;
  int64_t scales[2];
} grains[] = {
    {"one scale", 1, 0, 0, {1, 1}},
    {"rows", 0, 0, 1, {ROWS, 1}},
    {"columns", 1, 0, 1, {COLUMNS, 1}},
    {"blocks of rows", 0, 8, 2, {3, COLUMNS}},
    {"blocks of columns", 1, 32, 2, {ROWS, 20}},
    {"a block of all columns", 1, 1000, 2, {ROWS, 1}},
};

static int64_t scale_at(const struct grain *g, int64_t row, int64_t column) {
  if (g->rank == 0) return 0;
  if (!g->block) return g->axis ? column : row;
  return g->axis ? row * g->scales[1] + column / g->block : row / g->block * g->scales[1] + column;
}

static int integer_at(const struct type *t, const uint8_t *p, int64_t i) {
  unsigned all = 1u << t->bits, v;
  uint16_t wide;
  if (t->bits == 16)
    memcpy(&wide, p + 2 * i, 2), v = wide;
  else
    v = p[i * t->bits / 8] >> i * t->bits % 8 & (all - 1);
  return t->low && v >= all / 2 ? (int)v - (int)all : (int)v;
}

static void put_integer(const struct type *t, uint8_t *p, int64_t i, int v) {
  unsigned bits = (unsigned)v & ((1u << t->bits) - 1);
  uint16_t wide = (uint16_t)bits;
  if (t->bits == 16)
    memcpy(p + 2 * i, &wide, 2);
  else
    p[i * t->bits / 8] = (uint8_t)(p[i * t->bits / 8] | bits << i * t->bits % 8);
}

typedef struct data {
  float x[ALL], scale[3 * COLUMNS];
  uint8_t zero[6 * COLUMNS], q[2 * ALL];
} data;

/* Numbers within and beyond the type, ties among them, and specials. */
static void draw(const struct type *t, const struct grain *g, data *d) {
  uint32_t seed = 77;
  float span = (float)(1 << t->bits);
  int64_t n = g->scales[0] * g->scales[1];
  memset(d, 0, sizeof *d);
  for (int64_t i = 0; i < n; i++) {
    d->scale[i] = 0.25f + (float)(test_random(&seed) % 1000) / 512;
    put_integer(t, d->zero, i, t->low + (int)(test_random(&seed) % (1u << t->bits)));
  }
  for (int64_t i = 0; i < ALL; i++) {
    float by = d->scale[scale_at(g, i / COLUMNS, i % COLUMNS)];
    float tie = ((float)(test_random(&seed) % (unsigned)(4 * span)) - 2 * span) * 0.5f;
    d->x[i] = i % 3 ? tie * by : test_uniform(&seed, -span, span) * by;
    put_integer(t, d->q, i, t->low + (int)(test_random(&seed) % (1u << t->bits)));
  }
  for (size_t i = 0; i < OX_COUNT(test_edges); i++) d->x[i * 7] = test_edges[i];
}

static void begin(one_node *o, const char *op, const struct type *t, const struct grain *g, const data *d,
                  size_t level) {
  one_node_init(o, NULL, op, 25, 1);
  o->isa = test_levels[level].have;
  one_node_int(o, "axis", g->axis), one_node_int(o, "block_size", g->block);
  bool forth = strcmp(op, "QuantizeLinear") == 0;
  one_node_input(o, forth ? OX_F32 : t->dtype, 2, (int64_t[]){ROWS, COLUMNS}, forth ? (const void *)d->x : d->q);
  one_node_input(o, OX_F32, g->rank, g->scales, d->scale);
  one_node_input(o, t->dtype, g->rank, g->scales, d->zero);
}

static void check(const struct type *t, const struct grain *g, size_t level) {
  static data d;
  one_node forth, back;
  draw(t, g, &d);
  begin(&forth, "QuantizeLinear", t, g, &d, level), begin(&back, "DequantizeLinear", t, g, &d, level);
  CHECK_OK(one_node_run(&forth));
  CHECK_OK(one_node_run(&back));
  for (int64_t i = 0; i < ALL; i++) {
    int64_t s = scale_at(g, i / COLUMNS, i % COLUMNS);
    int zero = integer_at(t, d.zero, s), high = t->low + (1 << t->bits) - 1;
    volatile float ratio = d.x[i] / d.scale[s];
    double r = rint((double)ratio) + zero;
    int want = isnan(r) ? t->low : (int)fmin(fmax(r, t->low), high), got = integer_at(t, forth.out[0].data, i);
    if (got != want)
      fail_msg("%s, %s, %d bits: [%d] %a / %a is %d, wanted %d", test_levels[level].name, g->name, t->bits, (int)i,
               (double)d.x[i], (double)d.scale[s], got, want);
    volatile float real = (float)(integer_at(t, d.q, i) - zero) * d.scale[s];
    float y = ((const float *)back.out[0].data)[i];
    if (y != real)
      fail_msg("%s, %s, %d bits: back [%d] is %a, wanted %a", test_levels[level].name, g->name, t->bits, (int)i,
               (double)y, (double)real);
  }
  one_node_deinit(&forth), one_node_deinit(&back);
}

static void test_granularities(void **state) {
  (void)state;
  for (size_t l = 0; level_next(&l); l++)
    for (size_t t = 0; t < OX_COUNT(types); t++)
      for (size_t g = 0; g < OX_COUNT(grains); g++) check(&types[t], &grains[g], l);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_granularities)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
