/* SPDX-License-Identifier: Apache-2.0
 * ops/matmul/product_tune.c - measures the algorithms for a product of float32 matrices whose B is not packed at load:
 * dot products, B in place, B packed by a stage. On one thread, since the choice must not depend on their number. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cksize.h"
#include "base/tune.h"
#include "ops/matmul/product.h"

enum { WAYS = 3, MOST_FLOATS = 1 << 26, MOST_ROWS_OF_DOTS = 64 };
static const char *const names[WAYS] = {
    [OX_GEMM_PACKED] = "packed in the run", [OX_GEMM_DIRECT] = "in place", [OX_GEMM_DOTS] = "dots"};

static bool serves(const ox_product *p, ox_gemm_b way) {
  if (way == OX_GEMM_DOTS) return p->b_ks == 1 && (p->a_ks == 1 || p->k <= 1) && p->m <= MOST_ROWS_OF_DOTS;
  return way == OX_GEMM_PACKED || p->b_ns == 1;
}

static bool name_task(const ox_product *p, char out[OX_TUNE_KEY]) {
  int n = snprintf(out, OX_TUNE_KEY, "product float32 m %zu n %zu k %zu a %td %td b %td %td batch %lld of %zu", p->m,
                   p->n, p->k, p->a_rs, p->a_ks, p->b_ks, p->b_ns, (long long)p->n_batch, p->b_count);
  return n > 0 && n < OX_TUNE_KEY;
}

typedef struct trial {
  const ox_product *p;
  const ox_gemm_variant *v;
  ox_gemm_plan g;
  ox_gemm_epi epi;
  float *a, *b, *c;
  void *panels, *scratch;
} trial;

static void pack(void *ctx) {
  const trial *t = ctx;
  ox_gemm_src src = {t->b, OX_F32, t->p->b_ks, t->p->b_ns};
  ox_gemm_pack_b(t->v, &src, t->p->k, t->p->n, 0, ox_gemm_panels(t->v, t->p->n), t->panels, NULL);
}

static void multiply(void *ctx) {
  const trial *t = ctx;
  const ox_product *p = t->p;
  ox_gemm_io io = {.a = t->a, .a_rs = p->a_rs, .a_ks = p->a_ks, .c = t->c, .c_rs = p->n, .epi = &t->epi};
  io.b = t->g.b_mode == OX_GEMM_PACKED ? t->panels : t->b;
  io.b_rs = t->g.b_mode == OX_GEMM_DOTS ? p->b_ns : p->b_ks;
  for (size_t i = 0; i < ox_gemm_tiles(&t->g); i++) ox_gemm_run(&t->g, &io, i, t->scratch);
}

/* Floats from the first to the last element of rows x columns; 0: too many, or strides that are not measured. */
static size_t extent(size_t rows, ptrdiff_t rs, size_t columns, ptrdiff_t cs) {
  size_t a, b;
  if (rs < 0 || cs < 0 || !rows || !columns || !ox_mul_ok(rows - 1, (size_t)rs, &a) ||
      !ox_mul_ok(columns - 1, (size_t)cs, &b) || a > MOST_FLOATS || b > MOST_FLOATS)
    return 0;
  return a + b + 1 <= MOST_FLOATS ? a + b + 1 : 0;
}

/* The estimated time of all batches, in ns. Each matrix of B is packed once, even if batches share it. INFINITY: out of
 * memory. */
static double measure(trial *t, ox_gemm_b way, ox_alloc alloc) {
  const ox_product *p = t->p;
  ox_gemm_plan_init(&t->g, t->v, p->m, p->n, p->k, OX_F32, OX_F32, way);
  size_t bytes = t->g.scratch + OX_PAD_BYTES;
  if (!(t->scratch = ox_new_aligned(alloc, bytes, OX_ALIGN_BYTES))) return INFINITY;
  double packing = way == OX_GEMM_PACKED ? ox_tune_time(pack, t) * (double)p->b_count : 0;
  double ns = packing + ox_tune_time(multiply, t) * (double)p->n_batch;
  ox_delete(alloc, t->scratch, bytes);
  return ns;
}

static size_t measure_all(const ox_kernel_ctx *c, const ox_product *p, ox_tune_way *ways) {
  trial t = {.p = p, .v = ox_gemm_select(OX_F32, c->isa), .epi = {.alpha = 1, .beta = 1}};
  ox_alloc alloc = ox_tune_alloc(c->tune);
  size_t n_a = extent(p->m, p->a_rs, p->k, p->a_ks), n_b = extent(p->k, p->b_ks, p->n, p->b_ns), n = 0;
  size_t n_c = extent(p->m, (ptrdiff_t)p->n, p->n, 1), pad = OX_PAD_BYTES / sizeof(float) + OX_ALIGN_BYTES;
  if (!n_a || !n_b || !n_c) return 0;
  n_a = OX_ROUND_UP(n_a + pad, 16), n_b = OX_ROUND_UP(n_b + pad, 16), n_c = OX_ROUND_UP(n_c + pad, 16);
  size_t floats = n_a + n_b + n_c, bytes = floats * sizeof(float) + ox_gemm_b_bytes(t.v, p->k, p->n) + OX_PAD_BYTES;
  if (!(t.a = ox_new_aligned(alloc, bytes, OX_ALIGN_BYTES))) return 0;
  memset(t.a, 0, bytes);
  for (size_t i = 0; i < floats; i++) t.a[i] = (float)(i % 251) / 251 - 0.5f;
  t.b = t.a + n_a, t.c = t.b + n_b, t.panels = t.c + n_c;
  for (int way = 0; way < WAYS; way++) {
    if (!serves(p, (ox_gemm_b)way)) continue;
    ways[n] = (ox_tune_way){names[way], measure(&t, (ox_gemm_b)way, alloc)};
    n += ways[n].ns < INFINITY;
  }
  ox_delete(alloc, t.a, bytes);
  return n;
}

ox_gemm_b ox_product_measured(const ox_kernel_ctx *c, const ox_product *p, ox_gemm_b otherwise) {
  char task[OX_TUNE_KEY];
  ox_tune_way ways[WAYS];
  if (!p->k || !name_task(p, task)) return otherwise;
  const char *best = ox_tune_find(c->tune, task);
  if (!best && ox_tune_measures(c->tune)) {
    ox_tune_begin(c->tune);
    if (!ox_tune_find(c->tune, task)) ox_tune_put(c->tune, task, ways, measure_all(c, p, ways));
    ox_tune_end(c->tune);
    best = ox_tune_find(c->tune, task);
  }
  for (int way = 0; way < WAYS && best; way++)
    if (strcmp(best, names[way]) == 0 && serves(p, (ox_gemm_b)way)) return (ox_gemm_b)way;
  return otherwise;
}
