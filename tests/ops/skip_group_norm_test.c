/* SPDX-License-Identifier: Apache-2.0
 * ops/skip_group_norm_test.c - GroupNorm and SkipGroupNorm against doubles: layouts, forms of skip, types, SiLU. */
#include <string.h>

#include "support/typed.h"

#define DIMS(...) ((const int64_t[]){__VA_ARGS__})
enum { N = 2, H = 3, W = 5 };
typedef enum { NONE, IMAGE, PER_CHANNEL, PER_CHANNEL_4D } skip_form;
typedef struct row {
  int64_t channels, groups;
  bool last, silu, bias, sum;
  skip_form skip;
} row;

static int64_t index_of(const row *r, int64_t b, int64_t ch, int64_t pixel) {
  return r->last ? (b * H * W + pixel) * r->channels + ch : (b * r->channels + ch) * H * W + pixel;
}

static const ox_tensor *add_image(one_node *n, const row *r, uint32_t dtype) {
  return r->last ? typed_input(n, dtype, 4, DIMS(N, H, W, r->channels), 2)
                 : typed_input(n, dtype, 4, DIMS(N, r->channels, H, W), 2);
}

typedef struct inputs {
  const ox_tensor *x, *gamma, *beta, *skip, *bias;
} inputs;

static double summed(const row *r, const inputs *in, int64_t b, int64_t ch, int64_t pixel) {
  double v = typed_at(in->x, index_of(r, b, ch, pixel));
  if (in->skip) v += typed_at(in->skip, r->skip == IMAGE ? index_of(r, b, ch, pixel) : b * r->channels + ch);
  return in->bias ? v + typed_at(in->bias, ch) : v;
}

static void check_group(const one_node *n, const row *r, const inputs *in, int64_t b, int64_t g) {
  int64_t each = r->channels / r->groups, first = g * each;
  double mean = 0, variance = 0;
  for (int64_t i = 0; i < each * H * W; i++)
    mean += summed(r, in, b, first + i / H / W, i % (H * W)) / (double)(each * H * W);
  for (int64_t i = 0; i < each * H * W; i++)
    variance += pow(summed(r, in, b, first + i / H / W, i % (H * W)) - mean, 2) / (double)(each * H * W);
  for (int64_t i = 0; i < each * H * W; i++) {
    int64_t ch = first + i / H / W, at = index_of(r, b, ch, i % (H * W));
    double v = summed(r, in, b, ch, i % (H * W));
    if (r->sum) typed_near(&n->out[1], at, v, 1);
    v = (v - mean) / sqrt(variance + 0.125) * typed_at(in->gamma, ch) + typed_at(in->beta, ch);
    typed_near(&n->out[0], at, r->silu ? v / (1 + exp(-v)) : v, 4);
  }
}

static void check(const row *r, uint32_t dtype, uint32_t scale_type) {
  one_node n;
  inputs in = {NULL, NULL, NULL, NULL, NULL};
  one_node_init(&n, "com.microsoft", r->skip ? "SkipGroupNorm" : "GroupNorm", 1, r->sum ? 2 : 1);
  one_node_int(&n, "groups", r->groups), one_node_int(&n, "activation", r->silu);
  one_node_int(&n, "channels_last", r->last), one_node_float(&n, "epsilon", 0.125f);
  in.x = add_image(&n, r, dtype);
  in.gamma = typed_input(&n, scale_type, 1, &r->channels, 2), in.beta = typed_input(&n, scale_type, 1, &r->channels, 2);
  if (r->skip == IMAGE) in.skip = add_image(&n, r, dtype);
  if (r->skip == PER_CHANNEL) in.skip = typed_input(&n, dtype, 2, DIMS(N, r->channels), 2);
  if (r->skip == PER_CHANNEL_4D)
    in.skip = r->last ? typed_input(&n, dtype, 4, DIMS(N, 1, 1, r->channels), 2)
                      : typed_input(&n, dtype, 4, DIMS(N, r->channels, 1, 1), 2);
  if (r->bias) in.bias = typed_input(&n, dtype, 1, &r->channels, 2);
  n.run_tiles = 1;
  CHECK_OK(one_node_run(&n));
  for (int64_t i = 0; i < N * r->groups && r->channels; i++) check_group(&n, r, &in, i / r->groups, i % r->groups);
  one_node_deinit(&n);
}

static void test_every_form(void **state) {
  (void)state;
  static const uint32_t types[] = {OX_F32, OX_F16};
  static const int64_t sizes[][2] = {{1, 1}, {6, 1}, {6, 3}, {6, 6}, {48, 4}, {0, 2}};
  for (size_t s = 0; s < OX_COUNT(sizes); s++)
    for (int bits = 0; bits < 16; bits++)
      for (skip_form f = NONE; f <= PER_CHANNEL_4D; f++)
        for (size_t t = 0; t < 2; t++) {
          row r = {sizes[s][0], sizes[s][1], bits & 1, bits & 2, f && bits & 4, f && bits & 8, f};
          check(&r, types[t], types[bits >> 2 & 1]);
        }
}

static void fails(int64_t groups, int64_t activation, int64_t channels, const int64_t *skip, const char *text) {
  one_node n;
  one_node_init(&n, "com.microsoft", "SkipGroupNorm", 1, 1);
  one_node_int(&n, "groups", groups), one_node_int(&n, "activation", activation);
  typed_input(&n, OX_F32, 4, DIMS(2, 3, 4, 6), 1);
  typed_input(&n, OX_F32, 1, &channels, 1), typed_input(&n, OX_F32, 1, DIMS(6), 1);
  typed_input(&n, OX_F32, 4, skip, 1);
  CHECK_FAILS_WITH(one_node_run(&n), text);
  one_node_deinit(&n);
}

static void test_wrong_models(void **state) {
  (void)state;
  fails(4, 0, 6, DIMS(2, 3, 4, 6), "4 groups");
  fails(0, 0, 6, DIMS(2, 3, 4, 6), "'groups' is 0");
  fails(2, 2, 6, DIMS(2, 3, 4, 6), "'activation' is 2");
  fails(2, 0, 5, DIMS(2, 3, 4, 6), "input 1");
  fails(2, 0, 6, DIMS(2, 1, 4, 6), "input 3");
  fails(2, 0, 6, DIMS(1, 1, 1, 6), "input 3");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_form),
      cmocka_unit_test(test_wrong_models),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
