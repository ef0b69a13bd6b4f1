/* SPDX-License-Identifier: Apache-2.0
 * bench/conv_bench.c - GFLOP/s of float32 convolutions on layer shapes of known networks, one thread.
 * usage: conv_bench [ISA] [substring of a layer's name] */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kern/conv/conv.h"

static const struct layer {
  const char *name;
  int ic, oc, h, k, s, g, dil; /* oc, ic in all; square, SAME-like pads */
} layers[] = {
    {"rn 7x7s2 3-64 @224", 3, 64, 224, 7, 2, 1, 1},     {"rn 1x1 64-64 @56", 64, 64, 56, 1, 1, 1, 1},
    {"rn 3x3 64-64 @56", 64, 64, 56, 3, 1, 1, 1},       {"rn 1x1 64-256 @56", 64, 256, 56, 1, 1, 1, 1},
    {"rn 1x1 256-64 @56", 256, 64, 56, 1, 1, 1, 1},     {"rn 3x3s2 128 @56", 128, 128, 56, 3, 2, 1, 1},
    {"rn 3x3 128 @28", 128, 128, 28, 3, 1, 1, 1},       {"rn 1x1 128-512 @28", 128, 512, 28, 1, 1, 1, 1},
    {"rn 1x1 512-128 @28", 512, 128, 28, 1, 1, 1, 1},   {"rn 1x1s2 256-512 @56", 256, 512, 56, 1, 2, 1, 1},
    {"rn 3x3 256 @14", 256, 256, 14, 3, 1, 1, 1},       {"rn 1x1 256-1024 @14", 256, 1024, 14, 1, 1, 1, 1},
    {"rn 1x1 1024-256 @14", 1024, 256, 14, 1, 1, 1, 1}, {"rn 3x3 512 @7", 512, 512, 7, 3, 1, 1, 1},
    {"rn 1x1 512-2048 @7", 512, 2048, 7, 1, 1, 1, 1},   {"rn 1x1 2048-512 @7", 2048, 512, 7, 1, 1, 1, 1},
    {"rn 3x3s2 512 @14", 512, 512, 14, 3, 2, 1, 1},     {"mb 3x3s2 3-32 @224", 3, 32, 224, 3, 2, 1, 1},
    {"mb dw 32 @112", 32, 32, 112, 3, 1, 32, 1},        {"mb dws2 96 @112", 96, 96, 112, 3, 2, 96, 1},
    {"mb dw 144 @56", 144, 144, 56, 3, 1, 144, 1},      {"mb dw 192 @28", 192, 192, 28, 3, 1, 192, 1},
    {"mb dw 384 @14", 384, 384, 14, 3, 1, 384, 1},      {"mb dw 960 @7", 960, 960, 7, 3, 1, 960, 1},
    {"mb dws2 576 @14", 576, 576, 14, 3, 2, 576, 1},    {"mb 1x1 16-96 @112", 16, 96, 112, 1, 1, 1, 1},
    {"mb 1x1 24-144 @56", 24, 144, 56, 1, 1, 1, 1},     {"mb 1x1 144-24 @56", 144, 24, 56, 1, 1, 1, 1},
    {"mb 1x1 64-384 @14", 64, 384, 14, 1, 1, 1, 1},     {"mb 1x1 384-64 @14", 384, 64, 14, 1, 1, 1, 1},
    {"mb 1x1 160-960 @7", 160, 960, 7, 1, 1, 1, 1},     {"mb 1x1 320-1280 @7", 320, 1280, 7, 1, 1, 1, 1},
    {"en dw5 240 @28", 240, 240, 28, 5, 1, 240, 1},     {"en dw5 672 @14", 672, 672, 14, 5, 1, 672, 1},
    {"en dw5 1152 @7", 1152, 1152, 7, 5, 1, 1152, 1},   {"se 1152-48 @1", 1152, 48, 1, 1, 1, 1, 1},
    {"yo 3x3s2 3-16 @640", 3, 16, 640, 3, 2, 1, 1},     {"yo 3x3s2 16-32 @320", 16, 32, 320, 3, 2, 1, 1},
    {"yo 3x3 16-16 @160", 16, 16, 160, 3, 1, 1, 1},     {"yo 3x3 32-32 @80", 32, 32, 80, 3, 1, 1, 1},
    {"yo 3x3 64-80 @80", 64, 80, 80, 3, 1, 1, 1},       {"yo 3x3 64 @40", 64, 64, 40, 3, 1, 1, 1},
    {"yo 3x3 128 @20", 128, 128, 20, 3, 1, 1, 1},       {"yo 1x1 64-32 @160", 64, 32, 160, 1, 1, 1, 1},
};

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static float *buffer(size_t n) {
  float *p = aligned_alloc(64, OX_ROUND_UP(n * sizeof(float) + 64, 64));
  for (size_t i = 0; i < n; i++) p[i] = (float)((i * 2654435761u >> 8) % 2001) * 1e-3f - 1.0f;
  return p;
}

static void measure(const struct layer *l, ox_isa have) {
  int64_t taps[8];
  for (int i = 0; i < l->k; i++) taps[i] = (int64_t)i * l->dil - (int64_t)(l->k - 1) * l->dil / 2;
  int64_t zero[1] = {0}, o = (l->h + l->s - 1) / l->s;
  ox_conv_geom g = {1,
                    l->g,
                    l->ic / l->g,
                    l->oc / l->g,
                    {1, l->h, l->h},
                    {1, o, o},
                    {1, l->s, l->s},
                    {1, l->k, l->k},
                    {zero, taps, taps}};
  ox_act e = {OX_ACT_CLIP, 0, 6};
  ox_conv_plan p;
  const ox_conv_variant *v = ox_conv_choose(have, g.oc, g.ic * l->k * l->k, o * o, l->k > 1 || l->s > 1, l->s > 1);
  if (!ox_conv_plan_init(&p, &g, &e, v)) return;
  ox_conv_plan_tables(&p, malloc(p.table_bytes + 1));
  size_t k = (size_t)g.ic * (size_t)(l->k * l->k), nw = (size_t)g.groups * (size_t)g.oc * k;
  float *w = buffer(nw), *packed = w, *x = buffer((size_t)l->ic * (size_t)(l->h * l->h));
  if (!ox_conv_is_depthwise(g.ic, g.oc)) {
    packed = buffer(ox_conv_weight_floats(v, g.groups, g.oc, (int64_t)k));
    ox_conv_pack_weights(v, packed, w, g.oc, (int64_t)k, 0, g.groups, NULL);
  }
  float *bias = buffer((size_t)l->oc), *y = buffer((size_t)l->oc * (size_t)(o * o));
  float *scratch = buffer(p.scratch_bytes / 4 + 64), *shared = buffer(p.shared_bytes / 4 + 64);
  ox_conv_args a = {.x = x, .w = packed, .bias = bias, .y = y, .shared = shared};
  double best = 1e30, start = now();
  for (int n = 0; n < 200 && (n < 3 || now() - start < 60e6); n++) {
    double t = now();
    for (uint32_t s = 0; s < p.n_stages; s++) ox_conv_run(&p, &a, s, 0, p.n_tiles[s], scratch);
    t = now() - t;
    if (t < best) best = t;
  }
  double flop = 2.0 * (double)nw * (double)(o * o);
  printf("%-22s %8.1f us %7.1f GFLOP/s  mode %d tiles %lld kc %lld\n", l->name, best * 1e-3, flop / best, (int)p.mode,
         (long long)p.n_tiles[p.n_stages - 1], (long long)p.kc);
  free(bias), free(y), free(scratch), free(shared), free(x), free(w);
  if (packed != w) free(packed);
  free(p.tap_off);
}

int main(int argc, char **argv) {
  ox_isa have = argc > 1 ? ox_isa_cap(ox_isa_host(), argv[1]) : ox_isa_host();
  for (size_t i = 0; i < OX_COUNT(layers); i++)
    if (argc < 3 || strstr(layers[i].name, argv[2])) measure(&layers[i], have);
  return 0;
}
