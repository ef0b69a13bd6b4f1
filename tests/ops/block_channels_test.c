/* SPDX-License-Identifier: Apache-2.0
 * ops/block_channels_test.c - BlockChannels on every instruction set, against one channel after the other: all bits.
 * Lanes that no channel has hold NaN. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "support/block_layout.h"
#include "support/check.h"
#include "support/one_node.h"

enum { MOST = 4, MOST_CHANNELS = 200 };
typedef enum order { AS_IT_IS, BACKWARDS, ZIPPED, ANY } order;

static const struct {
  int64_t batch, pixels, in[MOST], out[MOST]; /* channels */
  order order;
} cases[] = {
    {1, 1, {1}, {1}, AS_IT_IS},
    {2, 49, {16, 32}, {48}, AS_IT_IS},
    {2, 49, {58, 58}, {116}, AS_IT_IS},
    {1, 196, {58, 58}, {58, 58}, ZIPPED},
    {2, 7, {5, 1, 30}, {20, 16}, BACKWARDS},
    {1, 2500, {33, 64}, {97}, ANY},
    {3, 3, {100}, {17, 3, 80}, ANY},
    {2, 0, {20}, {20}, BACKWARDS},
    {1, 5, {16}, {40}, ANY}, /* channels more than once */
};
static const char *const isas[] = {"scalar", "avx2", "avx512", "neon"};

static int64_t place(order o, int64_t i, int64_t n, int64_t out_n) {
  switch (o) {
    case BACKWARDS:
      return n - 1 - i;
    case ZIPPED:
      return i % 2 * (n / 2) + i / 2;
    case ANY:
      return (i * 37 + out_n) % n;
    default:
      return i;
  }
}

static float value(int64_t n, int64_t channel, int64_t p) { return (float)(n * 1000003 + channel * 4099 + p); }

static void check(size_t k, const char *isa, int64_t run_tiles) {
  int64_t n_in = 0, n_out = 0, total = 0, out_total = 0, from[MOST_CHANNELS], pixels = cases[k].pixels;
  for (; n_in < MOST && cases[k].in[n_in]; n_in++) total += cases[k].in[n_in];
  for (; n_out < MOST && cases[k].out[n_out]; n_out++) out_total += cases[k].out[n_out];
  for (int64_t i = 0; i < out_total; i++) from[i] = place(cases[k].order, i, total, out_total);
  one_node n;
  float *x[MOST];
  one_node_init(&n, "ai.onyx", "BlockChannels", 1, (uint32_t)n_out);
  n.isa = ox_isa_cap(ox_isa_host(), isa), n.run_tiles = run_tiles;
  one_node_ints(&n, "channels", (size_t)n_in, cases[k].in), one_node_ints(&n, "split", (size_t)n_out, cases[k].out);
  one_node_ints(&n, "from", (size_t)out_total, from);
  for (int64_t i = 0, first = 0; i < n_in; first += cases[k].in[i++]) {
    int64_t blocks = OX_CEIL_DIV(cases[k].in[i], 16), count = cases[k].batch * blocks * pixels * 16;
    x[i] = malloc((size_t)(count + 1) * sizeof(float));
    assert_non_null(x[i]);
    for (int64_t e = 0; e < count; e++) x[i][e] = NAN;
    for (int64_t b = 0; b < cases[k].batch; b++)
      for (int64_t c = 0; c < cases[k].in[i]; c++)
        for (int64_t p = 0; p < pixels; p++)
          x[i][block_place(b, c, p, cases[k].in[i], pixels)] = value(b, first + c, p);
    one_node_input(&n, OX_F32, 4, (int64_t[]){cases[k].batch, blocks, pixels, 16}, x[i]);
  }
  CHECK_OK(one_node_run(&n));
  for (int64_t o = 0, first = 0; o < n_out; first += cases[k].out[o++])
    for (int64_t b = 0; b < cases[k].batch; b++)
      for (int64_t c = 0; c < cases[k].out[o]; c++)
        for (int64_t p = 0; p < pixels; p++)
          if (((float *)n.out[o].data)[block_place(b, c, p, cases[k].out[o], pixels)] != value(b, from[first + c], p))
            fail_msg("%s, case %d, output %d, channel %d, pixel %d", isa, (int)k, (int)o, (int)c, (int)p);
  one_node_deinit(&n);
  for (int64_t i = 0; i < n_in; i++) free(x[i]);
}

static void test_orders_on_every_instruction_set(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(isas); i++)
    for (size_t k = 0; k < OX_COUNT(cases); k++) check(k, isas[i], 0), check(k, isas[i], 1);
}

static void test_what_does_not_fit_is_refused(void **state) {
  (void)state;
  static const float x[64];
  static const struct {
    size_t n_channels, n_from, n_split;
    int64_t channels[2], from[2], split[2];
    ox_code code;
    const char *error;
  } rows[] = {
      {2, 1, 1, {16, 16}, {0}, {1}, OX_INVALID_MODEL, "channels of 2 inputs and 1 outputs, there are 1 and 1"},
      {1, 1, 1, {16}, {0}, {2}, OX_INVALID_MODEL, "from has 1 entries, the outputs 2 channels"},
      {1, 1, 1, {16}, {16}, {1}, OX_INVALID_MODEL, "from[0] is 16, the inputs have 16 channels"},
      {1, 1, 1, {17}, {0}, {1}, OX_SHAPE_MISMATCH, "input 0 is not in blocks of 17 channels"},
  };
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    one_node n;
    one_node_init(&n, "ai.onyx", "BlockChannels", 1, 1);
    one_node_ints(&n, "channels", rows[i].n_channels, rows[i].channels);
    one_node_ints(&n, "from", rows[i].n_from, rows[i].from);
    one_node_ints(&n, "split", rows[i].n_split, rows[i].split);
    one_node_input(&n, OX_F32, 3, (int64_t[]){1, 1, 16}, x);
    CHECK_FAILS(one_node_run(&n), rows[i].code, rows[i].error);
    one_node_deinit(&n);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_orders_on_every_instruction_set),
                                     cmocka_unit_test(test_what_does_not_fit_is_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
