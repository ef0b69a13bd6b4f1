/* SPDX-License-Identifier: Apache-2.0
 * kern/split_choice_test.c - which convolutions go to a matrix unit: layers of known networks, by the times that they
 * took on one core of a Granite Rapids, on the unit and on vectors, in microseconds. Layers that it wins by a quarter
 * and 30 us must go to the unit, those that it wins by less than a tenth must not. */
#include "support/check.h"

#include <string.h>

#include "kern/blocks/bconv.h"
#include "kern/gemm/split_product.h"

typedef struct row {
  int64_t pixels, ic, oc;
  double unit, vectors;
} row;

static const row rows[] = {
    {1, 240, 10, 8, 2},         {1, 20, 480, 8, 3},         {1, 1152, 48, 38, 11},       {49, 160, 960, 90, 92},
    {49, 672, 192, 75, 73},     {49, 320, 1280, 228, 236},  {196, 512, 1024, 685, 1199}, {196, 1024, 512, 781, 1225},
    {196, 256, 1024, 360, 598}, {196, 1024, 256, 395, 639}, {196, 384, 64, 50, 53},      {196, 64, 384, 40, 54},
    {196, 112, 672, 112, 154},  {196, 384, 96, 65, 78},     {3136, 64, 256, 378, 600},   {49, 512, 2048, 553, 614},
    {196, 240, 80, 58, 52},     {196, 480, 80, 110, 103},   {400, 512, 256, 403, 629},   {400, 64, 64, 25, 22},
    {784, 32, 192, 55, 69},     {784, 256, 512, 670, 1244}, {784, 512, 256, 787, 1299},  {784, 512, 128, 492, 649},
    {784, 128, 512, 403, 632},  {1600, 64, 64, 79, 89},     {1600, 384, 128, 652, 957},  {1600, 256, 128, 437, 634},
    {3136, 64, 64, 117, 143},   {3136, 96, 24, 141, 125},   {3136, 256, 128, 850, 1249}, {6400, 64, 64, 350, 380},
    {6400, 128, 64, 600, 672},
};

/* Layers by their names in networks: what other forms do in fewer products, and what is too small, is not the unit's.
 */
static const struct {
  const char *name;
  int64_t batch, in[2], ic, oc, window, stride;
  bool unit;
} layers[] = {
    {"mobilenet_v2, expand", 1, {14, 14}, 64, 384, 1, 1, false},
    {"mobilenet_v2, project", 1, {14, 14}, 384, 96, 1, 1, false},
    {"efficientnet_b0, expand", 1, {14, 14}, 112, 672, 1, 1, true},
    {"efficientnet_b0, squeeze", 1, {1, 1}, 1152, 48, 1, 1, false},
    {"efficientnet_b0, project", 1, {7, 7}, 1152, 320, 1, 1, false},
    {"temporal convolutions", 1, {1, 1000}, 256, 64, 1, 1, false},
    {"yolov8n, Winograd's", 1, {80, 80}, 64, 64, 3, 1, false},
    {"yolov8n, Winograd's of stride 2", 1, {40, 40}, 128, 128, 3, 2, true},
    {"yolov8n, 1x1", 1, {20, 20}, 384, 256, 1, 1, true},
    {"resnet50, Winograd's", 1, {14, 14}, 256, 256, 3, 1, false},
    {"resnet50, Winograd's of stride 2", 1, {28, 28}, 256, 256, 3, 2, true},
    {"resnet50, few inputs", 1, {56, 56}, 64, 256, 1, 1, true},
    {"resnet50, reduce", 1, {14, 14}, 1024, 256, 1, 1, true},
    {"resnet50, expand", 1, {14, 14}, 256, 1024, 1, 1, true},
    {"resnet50, shortcut", 1, {28, 28}, 512, 1024, 1, 2, true},
    {"eight of resnet50, Winograd's", 8, {7, 7}, 512, 512, 3, 1, false},
    {"eight of resnet50, few pixels", 8, {7, 7}, 2048, 512, 1, 1, true},
};

static bool chosen(int64_t batch, const int64_t in[2], int64_t ic, int64_t oc, int64_t window, int64_t stride) {
  static const int64_t zero[] = {0}, three[] = {-1, 0, 1};
  const int64_t *tap = window == 3 ? three : zero, w = window, s = stride;
  ox_bconv_task t = {.isa = OX_AVX2 | OX_AVX512 | OX_AMX_BF16,
                     .g = {.batch = batch,
                           .groups = 1,
                           .ic = ic,
                           .oc = oc,
                           .in = {1, in[0], in[1]},
                           .out = {1, OX_CEIL_DIV(in[0], s), OX_CEIL_DIV(in[1], s)},
                           .stride = {1, s, s},
                           .n_taps = {1, w, w},
                           .tap = {zero, tap, tap}}};
  return strcmp(ox_bconv_choose(&t)->name, "amx") == 0;
}

enum { LEAST_US = 30 }; /* vectors are slower for a while once the unit was used */

static void test_the_faster_one_is_chosen(void **state) {
  (void)state;
  if (!ox_split_select(OX_AMX_BF16)) skip();
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    const row *r = &rows[i];
    double ratio = r->unit / r->vectors;
    bool unit = chosen(1, (int64_t[]){1, r->pixels}, r->ic, r->oc, 1, 1);
    if (unit ? ratio > 10.0 / 11 : ratio < 3.0 / 4 && r->vectors - r->unit > LEAST_US)
      fail_msg("%d pixels, %d -> %d channels: the unit %d, which takes %.0f us, others %.0f", (int)r->pixels,
               (int)r->ic, (int)r->oc, unit, r->unit, r->vectors);
  }
}

static void test_layers_of_networks(void **state) {
  (void)state;
  if (!ox_split_select(OX_AMX_BF16)) skip();
  for (size_t i = 0; i < OX_COUNT(layers); i++)
    if (chosen(layers[i].batch, layers[i].in, layers[i].ic, layers[i].oc, layers[i].window, layers[i].stride) !=
        layers[i].unit)
      fail_msg("%s: the unit %d", layers[i].name, !layers[i].unit);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_faster_one_is_chosen),
                                     cmocka_unit_test(test_layers_of_networks)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
