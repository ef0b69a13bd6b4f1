/* SPDX-License-Identifier: Apache-2.0
 * bench/conv_bench.c - float32 convolutions on the layers of known networks, one thread: the path on plain tensors
 * beside every form on tensors in blocks. Each is timed several times; the best counts. usage: conv_bench [ISA] [part
 * of a layer's name] [form] */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cpu_kind.h"
#include "kern/blocks/bconv.h"

typedef struct layer {
  const char *net;
  int n; /* how often the network has it */
  int ic, oc, h, w, k, s, g, dil;
} layer;

#define SQUARE(net, n, ic, oc, h, k, s) \
  { net, n, ic, oc, h, h, k, s, 1, 1 }
#define DEPTHWISE(net, n, c, h, k, s) \
  { net, n, c, c, h, h, k, s, c, 1 }
static const layer layers[] = {
    SQUARE("resnet50", 1, 3, 64, 224, 7, 2),     SQUARE("resnet50", 1, 64, 64, 56, 1, 1),
    SQUARE("resnet50", 3, 64, 64, 56, 3, 1),     SQUARE("resnet50", 4, 64, 256, 56, 1, 1),
    SQUARE("resnet50", 2, 256, 64, 56, 1, 1),    SQUARE("resnet50", 1, 256, 128, 56, 1, 1),
    SQUARE("resnet50", 1, 128, 128, 56, 3, 2),   SQUARE("resnet50", 4, 128, 512, 28, 1, 1),
    SQUARE("resnet50", 1, 256, 512, 56, 1, 2),   SQUARE("resnet50", 3, 512, 128, 28, 1, 1),
    SQUARE("resnet50", 3, 128, 128, 28, 3, 1),   SQUARE("resnet50", 1, 512, 256, 28, 1, 1),
    SQUARE("resnet50", 1, 256, 256, 28, 3, 2),   SQUARE("resnet50", 6, 256, 1024, 14, 1, 1),
    SQUARE("resnet50", 1, 512, 1024, 28, 1, 2),  SQUARE("resnet50", 5, 1024, 256, 14, 1, 1),
    SQUARE("resnet50", 5, 256, 256, 14, 3, 1),   SQUARE("resnet50", 1, 1024, 512, 14, 1, 1),
    SQUARE("resnet50", 1, 512, 512, 14, 3, 2),   SQUARE("resnet50", 3, 512, 2048, 7, 1, 1),
    SQUARE("resnet50", 1, 1024, 2048, 14, 1, 2), SQUARE("resnet50", 2, 2048, 512, 7, 1, 1),
    SQUARE("resnet50", 2, 512, 512, 7, 3, 1),

    SQUARE("mobilenet", 1, 3, 32, 224, 3, 2),    DEPTHWISE("mobilenet", 1, 32, 112, 3, 1),
    SQUARE("mobilenet", 1, 32, 16, 112, 1, 1),   SQUARE("mobilenet", 1, 16, 96, 112, 1, 1),
    DEPTHWISE("mobilenet", 1, 96, 112, 3, 2),    SQUARE("mobilenet", 1, 96, 24, 56, 1, 1),
    SQUARE("mobilenet", 2, 24, 144, 56, 1, 1),   DEPTHWISE("mobilenet", 1, 144, 56, 3, 1),
    SQUARE("mobilenet", 1, 144, 24, 56, 1, 1),   DEPTHWISE("mobilenet", 1, 144, 56, 3, 2),
    SQUARE("mobilenet", 1, 144, 32, 28, 1, 1),   SQUARE("mobilenet", 3, 32, 192, 28, 1, 1),
    DEPTHWISE("mobilenet", 2, 192, 28, 3, 1),    SQUARE("mobilenet", 2, 192, 32, 28, 1, 1),
    DEPTHWISE("mobilenet", 1, 192, 28, 3, 2),    SQUARE("mobilenet", 1, 192, 64, 14, 1, 1),
    SQUARE("mobilenet", 4, 64, 384, 14, 1, 1),   DEPTHWISE("mobilenet", 4, 384, 14, 3, 1),
    SQUARE("mobilenet", 3, 384, 64, 14, 1, 1),   SQUARE("mobilenet", 1, 384, 96, 14, 1, 1),
    SQUARE("mobilenet", 3, 96, 576, 14, 1, 1),   DEPTHWISE("mobilenet", 2, 576, 14, 3, 1),
    SQUARE("mobilenet", 2, 576, 96, 14, 1, 1),   DEPTHWISE("mobilenet", 1, 576, 14, 3, 2),
    SQUARE("mobilenet", 1, 576, 160, 7, 1, 1),   SQUARE("mobilenet", 3, 160, 960, 7, 1, 1),
    DEPTHWISE("mobilenet", 3, 960, 7, 3, 1),     SQUARE("mobilenet", 2, 960, 160, 7, 1, 1),
    SQUARE("mobilenet", 1, 960, 320, 7, 1, 1),   SQUARE("mobilenet", 1, 320, 1280, 7, 1, 1),

    SQUARE("effnet", 1, 96, 24, 56, 1, 1),       SQUARE("effnet", 1, 144, 24, 56, 1, 1),
    SQUARE("effnet", 1, 240, 40, 28, 1, 1),      SQUARE("effnet", 1, 40, 240, 28, 1, 1),
    SQUARE("effnet", 1, 240, 80, 14, 1, 1),      SQUARE("effnet", 3, 80, 480, 14, 1, 1),
    SQUARE("effnet", 2, 480, 80, 14, 1, 1),      SQUARE("effnet", 1, 480, 112, 14, 1, 1),
    SQUARE("effnet", 3, 112, 672, 14, 1, 1),     SQUARE("effnet", 2, 672, 112, 14, 1, 1),
    SQUARE("effnet", 1, 672, 192, 7, 1, 1),      SQUARE("effnet", 4, 192, 1152, 7, 1, 1),
    SQUARE("effnet", 3, 1152, 192, 7, 1, 1),     SQUARE("effnet", 1, 1152, 320, 7, 1, 1),
    SQUARE("effnet", 1, 320, 1280, 7, 1, 1),     DEPTHWISE("effnet", 1, 32, 112, 3, 1),
    DEPTHWISE("effnet", 1, 480, 14, 5, 1),       DEPTHWISE("effnet", 2, 672, 14, 5, 1),
    DEPTHWISE("effnet", 3, 1152, 7, 5, 1),       DEPTHWISE("effnet", 1, 1152, 7, 3, 1),

    SQUARE("yolov8n", 1, 3, 16, 640, 3, 2),      SQUARE("yolov8n", 1, 16, 32, 320, 3, 2),
    SQUARE("yolov8n", 1, 32, 32, 160, 1, 1),     SQUARE("yolov8n", 2, 16, 16, 160, 3, 1),
    SQUARE("yolov8n", 1, 48, 32, 160, 1, 1),     SQUARE("yolov8n", 1, 32, 64, 160, 3, 2),
    SQUARE("yolov8n", 1, 64, 64, 80, 1, 1),      SQUARE("yolov8n", 6, 32, 32, 80, 3, 1),
    SQUARE("yolov8n", 1, 128, 64, 80, 1, 1),     SQUARE("yolov8n", 1, 64, 128, 80, 3, 2),
    SQUARE("yolov8n", 1, 128, 128, 40, 1, 1),    SQUARE("yolov8n", 9, 64, 64, 40, 3, 1),
    SQUARE("yolov8n", 1, 256, 128, 40, 1, 1),    SQUARE("yolov8n", 1, 128, 256, 40, 3, 2),
    SQUARE("yolov8n", 1, 256, 256, 20, 1, 1),    SQUARE("yolov8n", 4, 128, 128, 20, 3, 1),
    SQUARE("yolov8n", 3, 384, 256, 20, 1, 1),    SQUARE("yolov8n", 1, 256, 128, 20, 1, 1),
    SQUARE("yolov8n", 1, 512, 256, 20, 1, 1),    SQUARE("yolov8n", 1, 384, 128, 40, 1, 1),
    SQUARE("yolov8n", 3, 192, 128, 40, 1, 1),    SQUARE("yolov8n", 1, 192, 64, 80, 1, 1),
    SQUARE("yolov8n", 1, 96, 64, 80, 1, 1),      SQUARE("yolov8n", 1, 64, 64, 80, 3, 2),
    SQUARE("yolov8n", 1, 128, 128, 40, 3, 2),    SQUARE("yolov8n", 2, 64, 64, 80, 3, 1),
    SQUARE("yolov8n", 1, 64, 80, 80, 3, 1),      SQUARE("yolov8n", 1, 80, 80, 80, 3, 1),
    SQUARE("yolov8n", 1, 64, 64, 80, 1, 1),      SQUARE("yolov8n", 1, 80, 80, 80, 1, 1),
    SQUARE("yolov8n", 1, 128, 64, 40, 3, 1),     SQUARE("yolov8n", 1, 128, 80, 40, 3, 1),
    SQUARE("yolov8n", 1, 80, 80, 40, 3, 1),      SQUARE("yolov8n", 1, 256, 64, 20, 3, 1),
    SQUARE("yolov8n", 1, 64, 64, 20, 3, 1),      SQUARE("yolov8n", 1, 256, 80, 20, 3, 1),
    SQUARE("yolov8n", 1, 80, 80, 20, 3, 1),

    SQUARE("ends", 1, 64, 1, 224, 3, 1),         SQUARE("ends", 1, 32, 1, 224, 5, 1),
    SQUARE("ends", 1, 64, 3, 224, 3, 1),         SQUARE("ends", 1, 64, 1, 224, 1, 1),
    SQUARE("ends", 1, 256, 5, 28, 1, 1),         SQUARE("ends", 1, 64, 8, 112, 3, 1),

    DEPTHWISE("other", 1, 240, 28, 5, 1),        DEPTHWISE("other", 1, 672, 14, 5, 1),
    DEPTHWISE("other", 1, 1152, 7, 5, 1),        SQUARE("other", 1, 1152, 48, 1, 1, 1),
    SQUARE("other", 1, 48, 1152, 1, 1, 1),       SQUARE("other", 1, 2048, 1000, 1, 1, 1),
    SQUARE("other", 1, 16, 16, 28, 1, 1),        SQUARE("other", 1, 8, 8, 56, 3, 1),
    {"other", 1, 64, 64, 1, 1024, 3, 1, 1, 1},   {"other", 1, 64, 64, 1, 1024, 3, 1, 1, 16},
    {"other", 1, 128, 128, 56, 56, 3, 1, 32, 1}, {"other", 1, 256, 256, 28, 28, 3, 1, 32, 1},
    {"other", 1, 256, 256, 56, 56, 3, 2, 32, 1}, {"other", 1, 128, 128, 28, 28, 3, 1, 64, 1},
    {"other", 1, 208, 208, 14, 14, 3, 1, 26, 1}, {"other", 1, 440, 440, 7, 7, 3, 1, 55, 1},

    {"regnet", 1, 72, 72, 112, 112, 3, 2, 3, 1}, {"regnet", 1, 72, 72, 56, 56, 3, 1, 3, 1},
    {"regnet", 3, 168, 168, 28, 28, 3, 1, 7, 1}, {"regnet", 9, 408, 408, 14, 14, 3, 1, 17, 1},
    {"regnet", 1, 912, 912, 7, 7, 3, 1, 38, 1},  {"regnet", 9, 896, 896, 14, 14, 3, 1, 16, 1},
    {"regnet", 1, 128, 128, 28, 28, 3, 1, 4, 1}, SQUARE("regnet", 9, 408, 408, 14, 1, 1),
    SQUARE("regnet", 3, 168, 168, 28, 1, 1),     SQUARE("regnet", 1, 168, 408, 28, 1, 1),
    SQUARE("regnet", 1, 408, 912, 14, 1, 1),     SQUARE("regnet", 2, 72, 72, 56, 1, 1),
    SQUARE("regnet", 2, 32, 72, 112, 1, 1),
};

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static float *buffer(size_t n) {
  float *p = aligned_alloc(64, OX_ROUND_UP(n * sizeof(float) + 128, 64));
  if (!p) exit(1);
  for (size_t i = 0; i < n; i++) p[i] = (float)((i * 2654435761u >> 8) % 2001) * 1e-3f - 1.0f;
  return p;
}

typedef struct problem {
  ox_bconv_task t;
  int64_t taps_h[32], taps_w[32];
  size_t n_w;
  double flop;
  float *x, *w, *bias, *y; /* large enough for plain tensors and for blocks */
} problem;

static void problem_init(problem *p, const layer *l, ox_isa isa) {
  static const int64_t zero[1];
  int64_t kh = l->h == 1 ? 1 : l->k, oh = OX_CEIL_DIV(l->h, l->s), ow = OX_CEIL_DIV(l->w, l->s);
  for (int i = 0; i < l->k; i++) {
    p->taps_w[i] = (int64_t)i * l->dil - (int64_t)(l->k - 1) * l->dil / 2;
    p->taps_h[i] = kh == 1 ? 0 : p->taps_w[i];
  }
  p->t = (ox_bconv_task){.isa = isa, .x_plain = l->ic <= 4};
  p->t.act = (ox_act){strcmp(l->net, "yolov8n") == 0 ? OX_ACT_SILU : OX_ACT_RELU, 0, 0};
  p->t.g = (ox_conv_geom){.batch = 1,
                          .groups = l->g,
                          .ic = l->ic / l->g,
                          .oc = l->oc / l->g,
                          .in = {1, l->h, l->w},
                          .out = {1, oh, ow},
                          .stride = {1, l->h == 1 ? 1 : l->s, l->s},
                          .n_taps = {1, kh, l->k},
                          .tap = {zero, p->taps_h, p->taps_w}};
  p->n_w = (size_t)l->oc * (size_t)(l->ic / l->g) * (size_t)(kh * l->k);
  p->flop = 2.0 * (double)p->n_w * (double)(oh * ow);
  p->x = buffer((size_t)OX_ROUND_UP(l->ic, 16) * (size_t)(l->h * l->w)), p->w = buffer(p->n_w);
  p->bias = buffer((size_t)l->oc), p->y = buffer((size_t)OX_ROUND_UP(l->oc, 16) * (size_t)(oh * ow));
}

static void problem_deinit(problem *p) { free(p->x), free(p->w), free(p->bias), free(p->y); }

/* The shortest of many runs, in ns. */
static double best_of(void (*run)(const void *plan, const ox_conv_args *a, void *scratch), const void *plan,
                      const ox_conv_args *a, void *scratch, size_t copies, size_t floats) {
  double best = INFINITY, start = now();
  ox_conv_args b = *a;
  for (int n = 0; n < 500 && (n < 5 || now() - start < 40e6); n++) {
    double t = now();
    b.w = a->w + (size_t)n % copies * floats;
    run(plan, &b, scratch);
    t = now() - t;
    best = OX_MIN(best, t);
  }
  return best;
}

static void run_plain(const void *plan, const ox_conv_args *a, void *scratch) {
  const ox_conv_plan *p = plan;
  for (uint32_t s = 0; s < p->n_stages; s++) ox_conv_run(p, a, s, 0, p->n_tiles[s], scratch);
}

static double time_plain(const problem *pr) {
  const ox_conv_geom *g = &pr->t.g;
  ox_conv_plan p;
  if (!ox_conv_plan_init(&p, g, &pr->t.act, ox_conv_select(pr->t.isa))) return INFINITY;
  void *tables = malloc(p.table_bytes + 1);
  ox_conv_plan_tables(&p, tables);
  float *scratch = buffer(p.scratch_bytes / 4 + 64), *shared = buffer(p.shared_bytes / 4 + 64);
  ox_conv_args a = {.x = pr->x, .w = pr->w, .bias = pr->bias, .y = pr->y, .shared = shared};
  double ns = best_of(run_plain, &p, &a, scratch, 1, 0);
  free(scratch), free(shared), free(tables);
  return ns;
}

static void run_form(const void *plan, const ox_conv_args *a, void *scratch) {
  const ox_bconv_plan *p = plan;
  for (uint32_t s = 0; s < p->n_stages; s++) p->form->run(p, a, s, 0, p->n_tiles[s], scratch);
}

static double time_form(const problem *pr, const ox_bconv_form *f, bool cold, int64_t *tiles) {
  if (!(f->cost_ns(&pr->t) < INFINITY)) return INFINITY;
  ox_bconv_plan *p = calloc(1, f->plan_bytes);
  p->form = f, p->task = pr->t;
  if (!f->plan(p)) return INFINITY;
  size_t floats = f->weight_floats(&pr->t);
  size_t copies = cold && floats ? (128 << 20) / floats / sizeof(float) + 1 : 1;
  float *packed = buffer(floats * copies);
  for (size_t i = 0; floats && i < copies; i++)
    f->pack(&pr->t, packed + i * floats, pr->w, 0, f->weight_units(&pr->t), NULL);
  float *scratch = buffer(p->scratch_bytes / 4 + 64), *shared = buffer(p->shared_bytes / 4 + 64);
  ox_conv_args a = {.x = pr->x, .w = floats ? packed : pr->w, .bias = pr->bias, .y = pr->y, .shared = shared};
  double ns = best_of(run_form, p, &a, scratch, copies, floats);
  *tiles = p->n_tiles[p->n_stages - 1];
  free(scratch), free(shared), free(packed), free(p);
  return ns;
}

static void measure(const layer *l, const char *name, ox_isa isa, const char *only, bool cold, double *plain_sum,
                    double *sum) {
  size_t n_forms;
  const ox_bconv_form *const *forms = ox_bconv_forms(&n_forms);
  problem p;
  problem_init(&p, l, isa);
  double plain = time_plain(&p), best = plain;
  printf("%-34s plain %8.1f us %6.1f", name, plain * 1e-3, p.flop / plain);
  for (size_t i = 0; i < n_forms; i++) {
    int64_t tiles = 0;
    double ns = only && strcmp(only, forms[i]->name) != 0 ? INFINITY : time_form(&p, forms[i], cold, &tiles);
    if (!(ns < INFINITY)) continue;
    printf("  %s %8.1f us %6.1f GFLOP/s (%lld; %.2f of its estimate)", forms[i]->name, ns * 1e-3, p.flop / ns,
           (long long)tiles, ns / forms[i]->cost_ns(&p.t));
    best = best == plain ? ns : OX_MIN(best, ns);
  }
  printf("\n");
  *plain_sum += l->n * plain, *sum += l->n * best;
  problem_deinit(&p);
}

int main(int argc, char **argv) {
  ox_isa have = argc > 1 ? ox_isa_cap(ox_isa_host(), argv[1]) : ox_isa_host();
  have |= ox_cpu_kind();
  double plain = 0, sum = 0;
  for (size_t i = 0; i < OX_COUNT(layers); i++) {
    const layer *l = &layers[i];
    char name[96];
    snprintf(name, sizeof name, "%s %dx%d%s%s %d-%d @%d", l->net, l->h == 1 ? 1 : l->k, l->k, l->s == 2 ? "s2" : "",
             l->g == 1       ? ""
             : l->g == l->ic ? " dw"
                             : " grouped",
             l->ic, l->oc, l->w);
    if (argc < 3 || strstr(name, argv[2])) measure(l, name, have, argc > 3 ? argv[3] : NULL, argc > 4, &plain, &sum);
    if (sum > 0 && (i + 1 == OX_COUNT(layers) || strcmp(l->net, layers[i + 1].net) != 0)) {
      printf("%s, all of these: plain %.2f ms, in blocks %.2f ms\n", l->net, plain * 1e-6, sum * 1e-6);
      plain = sum = 0;
    }
  }
  return 0;
}
