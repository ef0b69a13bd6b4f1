/* SPDX-License-Identifier: Apache-2.0
 * bench/onednn_bench.c - the layers of ResNet-50 as calls of oneDNN with nothing around them: what the oneDNN provider
 * (docs/onednn.md) can reach at best; bench/onednn_layers.py has them beside its own. As many threads as
 * OMP_NUM_THREADS says.
 *
 * onednn_bench [BATCH]: the median of each layer, in order, in microseconds; then milliseconds of one pass over all,
 * the median and the least of many. */
#include <oneapi/dnnl/dnnl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/macros.h"

enum { PASSES = 31, MOST_LAYERS = 80 };

static void check(dnnl_status_t s, int line) {
  if (s == dnnl_success) return;
  fprintf(stderr, "onednn_bench.c:%d: oneDNN status %d\n", line, (int)s);
  exit(1);
}
#define CHECK(s) check(s, __LINE__)

static void *need(size_t bytes) {
  void *p;
  if (posix_memalign(&p, 64, bytes)) exit(1);
  for (size_t i = 0; i < bytes / sizeof(float); i++) ((float *)p)[i] = (float)(i % 7) * 1e-3f;
  return p;
}

/* ---- the network ---- */

typedef struct {
  int in, out, size, kernel, stride; /* channels, pixels of a side before it */
  int relu, sum;
} layer;

static layer layers[MOST_LAYERS];
static int n_layers;

static void add(layer l) { layers[n_layers++] = l; }

static void add_block(int in, int mid, int size, int stride, int first) {
  add((layer){in, mid, size, 1, 1, 1, 0});
  add((layer){mid, mid, size, 3, stride, 1, 0});
  add((layer){mid, 4 * mid, size / stride, 1, 1, !first, !first});
  if (first) add((layer){in, 4 * mid, size, 1, stride, 1, 1}); /* the one that comes last does the sum */
}

static void add_network(void) {
  static const struct {
    int mid, size, blocks, stride;
  } stages[] = {{64, 56, 3, 1}, {128, 56, 4, 2}, {256, 28, 6, 2}, {512, 14, 3, 2}};
  int in = 64;
  add((layer){3, 64, 224, 7, 2, 1, 0});
  for (size_t s = 0; s < OX_COUNT(stages); s++)
    for (int k = 0; k < stages[s].blocks; k++) {
      int stride = k ? 1 : stages[s].stride;
      add_block(in, stages[s].mid, k ? stages[s].size / stages[s].stride : stages[s].size, stride, k == 0);
      in = 4 * stages[s].mid;
    }
}

/* ---- primitives ---- */

typedef struct {
  dnnl_primitive_t prim;
  dnnl_exec_arg_t args[5];
} call;

static dnnl_engine_t engine;
static void *scratch, *activations[3]; /* in, out, and what sums are added to */

static dnnl_memory_t memory_of(const dnnl_memory_desc_t *md, void *at) {
  dnnl_memory_t m;
  CHECK(dnnl_memory_create(&m, md, engine, at ? at : need(dnnl_memory_desc_get_size(md))));
  return m;
}

static dnnl_memory_desc_t any(int n, const dnnl_dims_t dims) {
  dnnl_memory_desc_t md;
  CHECK(dnnl_memory_desc_init_by_tag(&md, n, dims, dnnl_f32, dnnl_format_tag_any));
  return md;
}

static dnnl_primitive_attr_t attr_of(const layer *l) {
  dnnl_primitive_attr_t attr;
  dnnl_post_ops_t posts;
  CHECK(dnnl_primitive_attr_create(&attr));
  CHECK(dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user));
  CHECK(dnnl_post_ops_create(&posts));
  if (l->sum) CHECK(dnnl_post_ops_append_sum(posts, 1));
  if (l->relu) CHECK(dnnl_post_ops_append_eltwise(posts, 1, dnnl_eltwise_relu, 0, 0));
  CHECK(dnnl_primitive_attr_set_post_ops(attr, posts));
  CHECK(dnnl_post_ops_destroy(posts));
  return attr;
}

static call make(const layer *l, int batch, int at) {
  int out = (l->size + l->stride - 1) / l->stride, pad = l->kernel / 2;
  dnnl_dims_t xd = {batch, l->in, l->size, l->size}, wd = {l->out, l->in, l->kernel, l->kernel}, bd = {l->out},
              yd = {batch, l->out, out, out}, step = {l->stride, l->stride}, before = {pad, pad};
  int end = (out - 1) * l->stride + l->kernel - l->size - pad;
  dnnl_dims_t after = {end, end};
  dnnl_memory_desc_t x = any(4, xd), w = any(4, wd), b = any(1, bd), y = any(4, yd);
  dnnl_convolution_desc_t desc;
  dnnl_primitive_desc_t pd;
  dnnl_primitive_attr_t attr = attr_of(l);
  call c;
  CHECK(dnnl_convolution_forward_desc_init(&desc, dnnl_forward_inference, dnnl_convolution_direct, &x, &w, &b, &y, step,
                                           before, after));
  CHECK(dnnl_primitive_desc_create(&pd, &desc, attr, engine, NULL));
  CHECK(dnnl_primitive_create(&c.prim, pd));
  void *to = l->sum ? activations[2] : activations[(at + 1) % 2];
  const dnnl_exec_arg_t args[] = {
      {DNNL_ARG_SRC, memory_of(dnnl_primitive_desc_query_md(pd, dnnl_query_src_md, 0), activations[at % 2])},
      {DNNL_ARG_WEIGHTS, memory_of(dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 0), NULL)},
      {DNNL_ARG_BIAS, memory_of(dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 1), NULL)},
      {DNNL_ARG_DST, memory_of(dnnl_primitive_desc_query_md(pd, dnnl_query_dst_md, 0), to)},
      {DNNL_ARG_SCRATCHPAD, memory_of(dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0), scratch)}};
  memcpy(c.args, args, sizeof args);
  CHECK(dnnl_primitive_attr_destroy(attr));
  CHECK(dnnl_primitive_desc_destroy(pd));
  return c;
}

/* ---- times ---- */

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int less(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

int main(int argc, char **argv) {
  int batch = argc > 1 ? atoi(argv[1]) : 1;
  size_t most = (size_t)batch * 64 * 112 * 112 * sizeof(float);
  dnnl_stream_t stream;
  call calls[MOST_LAYERS];
  double ms[PASSES];
  static double each[MOST_LAYERS][PASSES];
  if (batch < 1) return 2;
  CHECK(dnnl_engine_create(&engine, dnnl_cpu, 0));
  CHECK(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags));
  scratch = need((size_t)64 << 20);
  for (int i = 0; i < 3; i++) activations[i] = need(most);
  add_network();
  for (int i = 0; i < n_layers; i++) calls[i] = make(&layers[i], batch, i);
  for (int k = 0; k < PASSES; k++) {
    double start = now_ms(), at = start;
    for (int i = 0; i < n_layers; i++) {
      CHECK(dnnl_primitive_execute(calls[i].prim, stream, 5, calls[i].args));
      double end = now_ms();
      each[i][k] = end - at, at = end;
    }
    ms[k] = at - start;
  }
  for (int i = 0; i < n_layers; i++) {
    const layer *l = &layers[i];
    qsort(each[i], PASSES, sizeof *each[i], less);
    printf("%2d  %4d -> %4d, %3d x %3d, kernel %d, stride %d%s%s: %8.1f us\n", i, l->in, l->out, l->size, l->size,
           l->kernel, l->stride, l->sum ? ", sum" : "", l->relu ? ", relu" : "", each[i][PASSES / 2] * 1e3);
  }
  qsort(ms, PASSES, sizeof *ms, less);
  printf("%d convolutions, batch %d: median %.2f ms, least %.2f ms\n", n_layers, batch, ms[PASSES / 2], ms[0]);
  return 0;
}
