/* SPDX-License-Identifier: Apache-2.0
 * kern/split_choice_test.c - which convolutions go to a matrix unit: layers of known networks, by the times that they
 * took on one core of a Sapphire Rapids at its best, on the unit and on vectors, in microseconds. Those that differ by
 * less than a seventh may go either way. */
#include "support/check.h"

#include <string.h>

#include "kern/blocks/bconv.h"

typedef struct row {
  int64_t pixels, ic, oc;
  double unit, vectors;
} row;

static const row rows[] = {
    {1, 240, 10, 5.6, 1.0},        {1, 20, 480, 5.6, 1.8},       {1, 1152, 48, 44, 11.5},      {49, 160, 960, 107, 96},
    {49, 672, 192, 99.8, 89.3},    {49, 1280, 320, 280, 290},    {196, 512, 1024, 863, 1519},  {196, 1024, 512, 936, 1430},
    {196, 256, 1024, 470, 690},    {196, 1024, 256, 502, 724},   {196, 384, 64, 57, 64.8},     {196, 64, 384, 73, 63},
    {196, 240, 80, 67.6, 56.2},    {196, 480, 80, 142, 114},     {400, 512, 256, 471, 759},    {400, 64, 64, 33, 24},
    {784, 32, 192, 95.6, 68.1},    {784, 256, 512, 969, 1429},   {784, 512, 256, 888, 1329},   {784, 512, 128, 541, 705},
    {784, 128, 512, 533, 668},     {1600, 64, 64, 115, 90},      {1600, 384, 128, 865, 1068},  {1600, 256, 128, 606, 743},
    {3136, 64, 64, 232, 168},      {3136, 96, 24, 242, 129},     {3136, 256, 128, 1049, 1317}, {6400, 64, 64, 468, 357},
    {6400, 128, 64, 819, 790},
};

static void test_the_faster_one_is_chosen(void **state) {
  (void)state;
#if OX_BUILD_AMX_BF16
  static const int64_t none[] = {0};
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    const row *r = &rows[i];
    ox_bconv_task t = {.isa = OX_AVX2 | OX_AVX512 | OX_AMX_BF16,
                       .g = {.batch = 1,
                             .groups = 1,
                             .ic = r->ic,
                             .oc = r->oc,
                             .in = {1, 1, r->pixels},
                             .out = {1, 1, r->pixels},
                             .stride = {1, 1, 1},
                             .n_taps = {1, 1, 1},
                             .tap = {none, none, none}}};
    const char *name = ox_bconv_choose(&t)->name;
    double ratio = r->unit / r->vectors;
    if (strcmp(name, "amx") == 0 ? ratio > 7.0 / 6 : ratio < 6.0 / 7)
      fail_msg("%d pixels, %d -> %d channels: %s, %.0f us on the unit, %.0f without", (int)r->pixels, (int)r->ic,
               (int)r->oc, name, r->unit, r->vectors);
  }
#else
  skip();
#endif
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_faster_one_is_chosen)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
