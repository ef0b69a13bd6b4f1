/* SPDX-License-Identifier: Apache-2.0
 * ops/matmul/dense.c - see dense.h. Constant weights are packed when a run first needs them. Those of few bits are
 * unpacked in registers for few rows, and to L2, a block of k at a time, for more. */
#include "ops/matmul/dense.h"

#include <assert.h>

#include "base/cksize.h"
#include "base/cpu_kind.h"
#include "kern/quant/convert.h"
#include "ops/matmul/nbits_floats.h"
#include "ops/matmul/nbits_source.h"

enum { FORMS = 8 /* of a layer's packed weights, in the node's numbers for them */ };

/* The most codes that a packed block can have if blocks of |block| share a scale; 0: no number of them is a word in
 * each lane. */
static int64_t packed_block(int64_t block, int64_t bits) {
  int64_t n = OX_MIN(block, OX_NBITS_MOST_BLOCK);
  while (n && (block % n || n * bits % 32)) n--;
  return n;
}

/* ---- load ---- */
static const ox_tensor *constant(const ox_load_ctx *c, uint32_t i) { return i < c->n_in ? c->in_const[i] : NULL; }

ox_status *ox_dense_load_floats(ox_load_ctx *c, const ox_dense_slots *in, int i, bool turned, ox_dense_state *out) {
  OX_TRY(ox_product_const(c, constant(c, in->w), !turned, &out->floats));
  if (!out->floats) return NULL;
  out->floats->first_form = (uint64_t)i * FORMS;
  c->consumed |= (uint64_t)1 << in->w;
  return NULL;
}

void ox_dense_load_codes(ox_load_ctx *c, const ox_dense_slots *in, int64_t bits, int64_t block, ox_dense_state *out) {
  const ox_tensor *w = constant(c, in->w), *zeros = constant(c, in->zero);
  bool has_zeros = in->zero < c->n_in && c->in_type[in->zero];
  if (!w || !constant(c, in->scale) || (has_zeros && !zeros) || (!block && w->shape.rank == 0)) return;
  if (!block) block = w->shape.dim[w->shape.rank - 1] * 8 / bits;
  if (!(out->codes = packed_block(block, bits) > 0)) return;
  c->consumed |= (uint64_t)1 << in->w | (uint64_t)1 << in->scale | (has_zeros ? (uint64_t)1 << in->zero : 0);
}

/* ---- prepare ---- */

/* The weights of few bits of matrix |i|, in blocks of |block|. */
static ox_nbits_source source_of(const ox_dense *l, const ox_tensor *const *in, uint32_t n_in, int64_t i,
                                 int64_t block) {
  const ox_tensor *zeros = l->in.zero < n_in ? in[l->in.zero] : NULL;
  size_t n = (size_t)l->n, k = (size_t)l->k, bits = (size_t)l->bits, matrix = (size_t)i;
  ox_nbits_source w = {.scales = in[l->in.scale], .zeros = zeros, .n = n, .block = (size_t)block, .bits = bits};
  w.b = (const uint8_t *)in[l->in.w]->data + matrix * n * k * bits / 8;
  w.blocks = k / w.block, w.blob = w.block * bits / 8, w.share = (size_t)(l->block / block);
  w.first_scale = matrix * n * (size_t)l->blocks, w.high_first = l->table != NULL;
  w.zero_row = l->blocked ? OX_ROUND_UP((size_t)l->blocks * bits, (size_t)8) : bits;
  w.first_zero = matrix * OX_ROUND_UP(n * w.zero_row, (size_t)8);
  return w;
}

typedef struct packing {
  const ox_dense *l;
  uint32_t n_in;
} packing;

/* A unit is a panel. */
static void pack_panels(const ox_pack *p, const ox_tensor *const *in, void *to, int64_t begin, int64_t end,
                        void *scratch) {
  const packing *k = p->arg;
  const ox_dense *l = k->l;
  size_t lanes = l->few->lanes, panels = OX_CEIL_DIV((size_t)l->n, lanes);
  (void)scratch;
  for (size_t i = (size_t)begin; i < (size_t)end; i++) {
    ox_nbits_source w = source_of(l, in, k->n_in, (int64_t)(i / panels), (int64_t)l->f.block);
    ox_nbits_pack_panel(&w, &l->f, NULL, lanes, i % panels, (uint8_t *)to + i * l->panel_bytes);
  }
}

static ox_status *plan_codes(ox_kernel_ctx *c, ox_dense *l, int i) {
  const ox_tensor *zeros = ox_ctx_has(c, l->in.zero) ? c->in[l->in.zero] : NULL;
  const int64_t block = packed_block(l->block, l->bits);
  packing *k = ox_ctx_alloc(c, sizeof *k);
  if (!k) return ox_oom();
  *k = (packing){l, c->n_in};
  l->few = ox_nbits_select(c->isa);
  l->f = ox_nbits_format_of((size_t)l->bits, (size_t)block, (size_t)(l->k / block), zeros);
  l->f.table = l->table;
  l->panel_bytes = ox_nbits_panel_bytes(&l->f, l->few->lanes);
  size_t panels = OX_CEIL_DIV((size_t)l->n, l->few->lanes);
  l->matrix_bytes = panels * l->panel_bytes;
  ox_pack p = {.struct_size = sizeof p,
               .form = (uint64_t)i * FORMS,
               .inputs = (uint64_t)1 << l->in.w | (uint64_t)1 << l->in.scale,
               .n_units = l->count * (int64_t)panels,
               .fn = pack_panels,
               .arg = k};
  if (zeros) p.inputs |= (uint64_t)1 << l->in.zero;
  if (!ox_mul_ok(l->matrix_bytes, (size_t)l->count, &p.bytes) || !ox_add_ok(p.bytes, OX_PAD_BYTES, &p.bytes))
    return ox_oom();
  return ox_ctx_pack_for_runs(c, &p, &l->panels);
}

/* The product of |m| rows by a group of |n| outputs. Its tiles' memory is largest for the fewest and the most rows, and
 * for the widest group. */
static ox_gemm_plan plan_of(const ox_dense *l, int64_t m, int64_t n) {
  const ox_gemm_b mode = l->bits ? OX_GEMM_SOURCE : l->panels ? OX_GEMM_PACKED : OX_GEMM_LATE;
  ox_gemm_plan g;
  ox_gemm_plan_init(&g, l->v, (size_t)m, (size_t)n, (size_t)l->k, OX_F32, OX_F32, mode);
  return g;
}

ox_status *ox_dense_plan(ox_kernel_ctx *c, ox_dense *l, const ox_dense_state *s, int i, int64_t most,
                         size_t *out_scratch) {
  l->v = ox_gemm_select(l->bits ? OX_F32 : c->in[l->in.w]->dtype, c->isa);
  assert(OX_DENSE_GROUP % l->v->nr == 0);
  if (s->codes) OX_TRY(plan_codes(c, l, i));
  if (s->floats) {
    ox_product_b *b = ox_ctx_alloc(c, sizeof *b);
    if (!b) return ox_oom();
    *b = *s->floats;
    OX_TRY(ox_product_pack(c, b, l->in.w));
    l->panels = b->panels, l->matrix_bytes = b->matrix_bytes;
  }
  *out_scratch = OX_MAX(plan_of(l, 1, OX_DENSE_GROUP).scratch, plan_of(l, OX_MAX(most, 1), OX_DENSE_GROUP).scratch);
  return NULL;
}

/* ---- run ---- */
typedef struct group_of_codes {
  ox_nbits_source w;
  size_t first, n, k; /* outputs from |first| on */
} group_of_codes;

/* For ox_gemm_source: weights that are not packed, one by one. */
static void write_codes(const void *ctx, size_t k0, size_t kn, size_t col, size_t n, float *to, size_t ld) {
  const group_of_codes *g = ctx;
  const ox_nbits_source *w = &g->w;
  for (size_t j = 0; j < n; j++) {
    size_t row = g->first + col + j;
    float scale = 0, zero = 0;
    for (size_t k = k0; k < k0 + kn; k++) {
      if (col + j >= g->n) {
        to[(k - k0) * ld + j] = 0;
        continue;
      }
      if (k == k0 || k % w->block == 0)
        scale = ox_nbits_scale(w, row, k / w->block), zero = ox_nbits_zero_point(w, row, k / w->block);
      to[(k - k0) * ld + j] = ((float)ox_nbits_bits(w->b, (row * g->k + k) * w->bits, w->bits) - zero) * scale;
    }
  }
}

static const void *panels_of(const ox_dense *l, const ox_dense_job *job, size_t panel, size_t panel_bytes) {
  return (const char *)*l->panels + (size_t)job->matrix * l->matrix_bytes + panel * panel_bytes;
}

/* Outputs [col, col + n) for few rows. */
static void run_few(const ox_kernel_ctx *c, const ox_dense *l, const ox_dense_job *job, size_t col, size_t n) {
  const ox_tensor *bias = ox_ctx_has(c, l->in.bias) ? c->in[l->in.bias] : NULL;
  const size_t lanes = l->few->lanes, m = (size_t)job->m;
  float biases[16];
  ox_nbits_tile t = {.f = l->f, .a_rs = (size_t)l->k, .c_rs = job->ldy};
  t.streams = (ox_cpu_kind() & OX_SLOW_L3) != 0;
  for (size_t at = col; at < col + n; at += lanes) {
    t.w = panels_of(l, job, at / lanes, l->panel_bytes), t.n = OX_MIN(lanes, col + n - at);
    if (bias) {
      size_t first = (size_t)(job->matrix * l->n) + at;
      ox_convert_select(c->isa)->load_f32[bias->dtype](bias->data, first, t.n, biases), t.bias = biases;
    }
    for (size_t row = 0; row < m; row += t.m) { /* strips of equal height */
      t.m = OX_CEIL_DIV(m - row, OX_CEIL_DIV(m - row, l->few->rows));
      t.a = job->x + row * (size_t)l->k, t.c = job->y + row * job->ldy + at - col;
      l->few->run(&t);
    }
  }
}

static void run_tiles(const ox_kernel_ctx *c, const ox_dense *l, const ox_dense_job *job, size_t col, size_t n,
                      ox_gemm_io *io, void *scratch) {
  const ox_tensor *bias = ox_ctx_has(c, l->in.bias) ? c->in[l->in.bias] : NULL;
  const ox_gemm_plan g = plan_of(l, job->m, (int64_t)n);
  ox_gemm_epi epi = {.alpha = 1, .beta = 1};
  if (bias) {
    size_t first = (size_t)(job->matrix * l->n) + col;
    epi.term[0] = (ox_gemm_term){(const char *)bias->data + first * ox_dtype_bits(bias->dtype) / 8, bias->dtype, 0, 1};
  }
  io->a = job->x, io->a_rs = (ptrdiff_t)l->k, io->a_ks = 1;
  io->c = job->y, io->c_rs = job->ldy, io->epi = &epi, io->stop = ox_ctx_stop(c);
  for (size_t i = 0; i < ox_gemm_tiles(&g); i++) ox_gemm_run(&g, io, i, scratch);
}

static void run_codes(const ox_kernel_ctx *c, const ox_dense *l, const ox_dense_job *job, size_t col, size_t n,
                      void *scratch) {
  if (!l->panels) {
    const group_of_codes g = {source_of(l, c->in, c->n_in, job->matrix, l->block), col, n, (size_t)l->k};
    run_tiles(c, l, job, col, n, &(ox_gemm_io){.b = &g, .source = write_codes}, scratch);
  } else if ((size_t)job->m < l->few->many) {
    run_few(c, l, job, col, n);
  } else {
    const void *panels = panels_of(l, job, col / l->few->lanes, l->panel_bytes);
    const ox_nbits_weights w = {l->few, &l->f, panels, l->panel_bytes, n};
    run_tiles(c, l, job, col, n, &(ox_gemm_io){.b = &w, .source = ox_nbits_write_floats}, scratch);
  }
}

void ox_dense_run(const ox_kernel_ctx *c, const ox_dense *l, const ox_dense_job *job, int64_t group, void *scratch) {
  const size_t col = (size_t)group * OX_DENSE_GROUP, n = OX_MIN((size_t)l->n - col, (size_t)OX_DENSE_GROUP);
  const ox_tensor *w = c->in[l->in.w];
  if (l->bits) {
    run_codes(c, l, job, col, n, scratch);
  } else if (l->panels) {
    const void *b = panels_of(l, job, col / l->v->nr, ox_gemm_panel_bytes(l->v, (size_t)l->k));
    run_tiles(c, l, job, col, n, &(ox_gemm_io){.b = b}, scratch);
  } else {
    const int64_t ks = l->turned ? l->n : 1, ns = l->turned ? 1 : l->k;
    size_t first = (size_t)(job->matrix * l->n * l->k) + col * (size_t)ns;
    const ox_gemm_src src = {(const char *)w->data + first * ox_dtype_bits(w->dtype) / 8, w->dtype, ks, ns};
    run_tiles(c, l, job, col, n, &(ox_gemm_io){.whole = &src}, scratch);
  }
}
