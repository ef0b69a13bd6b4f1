/* SPDX-License-Identifier: Apache-2.0
 * ops/matmul_nbits.c - com.microsoft.MatMulNBits: A times the transpose of weights of 2 to 8 bits in blocks.
 * Constant weights are packed when a run first needs them and unpacked in registers; at accuracy level 4 the rows of
 * A are quantized to bytes. */
#include <string.h>

#include "base/cksize.h"
#include "base/cpu_kind.h"
#include "kern/nbits/nbits.h"
#include "kern/quant/convert.h"
#include "graph/op_def.h"
#include "ops/matmul/nbits_floats.h"
#include "ops/matmul/nbits_source.h"
#include "ops/matmul/nbits_split.h"

typedef struct nbits_attrs {
  int64_t K, N, bits, block_size, accuracy_level, weight_prepacked;
} nbits_attrs;

static const ox_attr_def attrs[] = {
    OX_ATTR_INT_REQUIRED_IN(nbits_attrs, K, 1, OX_COUNT_MAX),
    OX_ATTR_INT_REQUIRED_IN(nbits_attrs, N, 1, OX_COUNT_MAX),
    OX_ATTR_INT_IN(nbits_attrs, bits, 4, 2, 8),
    OX_ATTR_INT_REQUIRED_IN(nbits_attrs, block_size, 16, 1 << 16),
    OX_ATTR_INT(nbits_attrs, accuracy_level, 0),
    OX_ATTR_INT(nbits_attrs, weight_prepacked, 0),
};

enum {
  IN_A,
  IN_B,
  IN_SCALES,
  IN_ZERO,
  IN_GROUP,
  IN_BIAS,
  BYTE_ROWS = 4,
  LEVEL_F32 = 1,
  LEVEL_BYTES = 4,
  TILE_BYTES = 160 * 1024,
  TILE_MACS = 1 << 23
};

static ox_nbits_source source_of(const nbits_attrs *a, const ox_tensor *b, const ox_tensor *scales,
                                 const ox_tensor *zeros) {
  ox_nbits_source w = {.b = b->data, .scales = scales, .zeros = zeros, .n = (size_t)a->N, .share = 1};
  w.block = (size_t)a->block_size, w.bits = (size_t)a->bits;
  w.blocks = OX_CEIL_DIV((size_t)a->K, w.block), w.blob = w.block * w.bits / 8;
  w.zero_row = OX_ROUND_UP(w.blocks * w.bits, (size_t)8);
  return w;
}

/* ---- inference ---- */
static ox_status *infer(ox_infer_ctx *c) {
  const nbits_attrs *a = c->attrs;
  ox_shape out = c->in[IN_A]->shape;
  int64_t n, bytes;
  if (a->block_size & (a->block_size - 1))
    return ox_fail(OX_INVALID_MODEL, "MatMulNBits: block_size %lld is no power of two", (long long)a->block_size);
  if (a->weight_prepacked) return ox_fail(OX_NOT_IMPLEMENTED, "MatMulNBits: weights prepacked for another device");
  int64_t blocks = OX_CEIL_DIV(a->K, a->block_size), blob = a->block_size * a->bits / 8;
  if (!ox_mul_i64_ok(a->N, blocks, &n) || !ox_mul_i64_ok(n, blob, &bytes))
    return ox_fail(OX_INVALID_MODEL, "MatMulNBits: too large");
  const int64_t packed =
      ox_infer_has(c, IN_ZERO) && c->in[IN_ZERO]->dtype == OX_U8 ? a->N * OX_CEIL_DIV(blocks * a->bits, 8) : n;
  const int64_t wanted[] = {-1, bytes, n, packed, a->K, a->N};
  for (uint32_t i = IN_B; i <= IN_BIAS; i++) {
    int64_t count = ox_infer_has(c, i) ? ox_shape_count(&c->in[i]->shape) : -1;
    bool padded = i == IN_GROUP && count == blocks * a->block_size;
    if (count >= 0 && count != wanted[i] && !padded)
      return ox_fail(OX_SHAPE_MISMATCH, "MatMulNBits: input %u has %lld elements, wanted %lld", i, (long long)count,
                     (long long)wanted[i]);
  }
  if (out.rank == 0) return ox_fail(OX_INVALID_MODEL, "MatMulNBits: A is a scalar");
  if (out.rank > 0) {
    if (out.dim[out.rank - 1] >= 0 && out.dim[out.rank - 1] != a->K)
      return ox_fail(OX_SHAPE_MISMATCH, "MatMulNBits: A has %lld columns, K is %lld", (long long)out.dim[out.rank - 1],
                     (long long)a->K);
    out.dim[out.rank - 1] = a->N;
  }
  ox_infer_out(c, 0, c->in[IN_A]->dtype, &out);
  return NULL;
}

/* ---- load ---- */
typedef struct nbits_state {
  const ox_nbits_variant *v;
  ox_nbits_format f;
  bool zeros;           /* there is a constant input of them */
  const int32_t *order; /* which k is packed where, if groups are not blocks; else NULL */
  size_t panel_bytes, bytes;
} nbits_state;

/* Columns of A by the group of their weights, if each group has as many as a block: then it is one in that order. NULL
 * in |*out|: it is not so. */
static ox_status *order_of(ox_load_ctx *c, const nbits_attrs *a, const ox_tensor *group, const int32_t **out) {
  const ox_i32u *g = group ? group->data : NULL;
  size_t k = (size_t)a->K, block = (size_t)a->block_size, blocks = k / block;
  *out = NULL;
  if (!g || k % block || k > INT32_MAX) return NULL;
  int32_t *order = OX_LOAD_ARRAY(c, int32_t, k);
  size_t *filled = OX_LOAD_ARRAY(c, size_t, blocks);
  if (!order || !filled) return ox_oom();
  memset(filled, 0, blocks * sizeof *filled);
  for (size_t i = 0; i < k; i++) {
    if (g[i] < 0 || (size_t)g[i] >= blocks || filled[g[i]] == block) return NULL;
    order[(size_t)g[i] * block + filled[g[i]]++] = (int32_t)i;
  }
  *out = order;
  return NULL;
}

static ox_status *load(ox_load_ctx *c) {
  const nbits_attrs *a = c->attrs;
  const ox_tensor *zeros = c->n_in > IN_ZERO ? c->in_const[IN_ZERO] : NULL;
  bool has_zeros = c->n_in > IN_ZERO && c->in_type[IN_ZERO], grouped = c->n_in > IN_GROUP && c->in_type[IN_GROUP];
  const int32_t *order = NULL;
  if (!c->in_const[IN_B] || !c->in_const[IN_SCALES] || (has_zeros && !zeros) || a->block_size > OX_NBITS_MOST_BLOCK)
    return NULL;
  if (grouped) OX_TRY(order_of(c, a, c->in_const[IN_GROUP], &order));
  if (grouped && !order) return NULL;
  nbits_state *s = OX_LOAD_NEW(c, nbits_state);
  if (!s) return ox_oom();
  s->v = ox_nbits_select(c->isa);
  s->f = ox_nbits_format_of((size_t)a->bits, (size_t)a->block_size, (size_t)OX_CEIL_DIV(a->K, a->block_size), zeros);
  s->zeros = zeros != NULL, s->order = order;
  s->panel_bytes = ox_nbits_panel_bytes(&s->f, s->v->lanes);
  if (!ox_mul_ok(s->panel_bytes, OX_CEIL_DIV((size_t)a->N, s->v->lanes), &s->bytes)) return ox_oom();
  c->state = s;
  c->consumed |= 1 << IN_B | 1 << IN_SCALES | (zeros ? 1 << IN_ZERO : 0);
  return NULL;
}

/* ---- prepare ---- */

typedef struct packing {
  const nbits_attrs *attrs;
  const nbits_state *s;
} packing;

/* A unit is a panel. */
static void pack_panels(const ox_pack *p, const ox_tensor *const *in, void *to, int64_t begin, int64_t end,
                        void *scratch) {
  const nbits_state *s = ((const packing *)p->arg)->s;
  const ox_nbits_source w =
      source_of(((const packing *)p->arg)->attrs, in[IN_B], in[IN_SCALES], s->zeros ? in[IN_ZERO] : NULL);
  (void)scratch;
  for (int64_t panel = begin; panel < end; panel++)
    ox_nbits_pack_panel(&w, &s->f, s->order, s->v->lanes, (size_t)panel,
                        (uint8_t *)to + (size_t)panel * s->panel_bytes);
}

static ox_status *pack(ox_kernel_ctx *c, const nbits_state *s, const void *const **out_place) {
  packing *k = ox_ctx_alloc(c, sizeof *k);
  if (!k) return ox_oom();
  *k = (packing){c->attrs, s};
  ox_pack p = {.struct_size = sizeof p,
               .inputs = 1 << IN_B | 1 << IN_SCALES | (s->zeros ? 1 << IN_ZERO : 0),
               .n_units = (int64_t)(s->bytes / OX_MAX(s->panel_bytes, (size_t)1)),
               .fn = pack_panels,
               .arg = k};
  if (!ox_add_ok(s->bytes, OX_PAD_BYTES, &p.bytes)) return ox_oom();
  return ox_ctx_pack_for_runs(c, &p, out_place);
}

typedef struct nbits_prep {
  const void *const *packed; /* where runs find it */
  size_t m, n, k, padded;    /* padded: block x blocks */
  size_t blocks;
  bool quantized, wide, early; /* wide: rows are converted to padded floats first; early: a stage of its own prepares
                                  rows, so that not every range of tiles has to */
  size_t row_bytes;            /* of one ready row */
  size_t panels;               /* of one tile */
  bool tall;                   /* many rows: |floats| */
  bool split;                  /* one row of floats, which |shared| holds in parts (nbits_split.h) */
  ox_nbits_floats floats;
} nbits_prep;

/* Whether rows become bytes, which accuracy level 4 allows. Floats are more exact, and faster for many rows where
 * products of bytes take several instructions. */
static bool is_quantized(const ox_kernel_ctx *c, const nbits_prep *p) {
  const nbits_state *s = c->state;
  return ((const nbits_attrs *)c->attrs)->accuracy_level == LEVEL_BYTES && !s->order &&
         (s->f.bits <= s->v->byte_bits || p->m < s->v->many);
}

/* Whether rows of floats are multiplied as sums of rows of bytes. */
static bool splits(const ox_kernel_ctx *c, const nbits_prep *p) {
  const nbits_attrs *a = c->attrs;
  const nbits_state *s = c->state;
  return p->m <= OX_NBITS_SPLIT_ROWS && !p->quantized && a->accuracy_level != LEVEL_F32 &&
         c->in[IN_A]->dtype == OX_F32 && p->k == p->padded && !s->order && s->f.bits <= s->v->byte_bits;
}

/* A ready row: floats, or bytes with scales and sums. */
static size_t ready_bytes(const nbits_prep *p) {
  if (!p->quantized) return p->padded * sizeof(float);
  return OX_ROUND_UP(OX_ROUND_UP(p->padded, (size_t)64) + 2 * p->blocks * sizeof(float), (size_t)64);
}

static ox_status *prepare(ox_kernel_ctx *c) {
  const nbits_attrs *a = c->attrs;
  const nbits_state *s = c->state;
  nbits_prep *p = ox_ctx_alloc(c, sizeof *p);
  if (!p) return ox_oom();
  c->prep = p;
  p->k = (size_t)a->K, p->n = (size_t)a->N, p->m = (size_t)(ox_shape_count(&c->in[IN_A]->shape) / a->K);
  p->blocks = OX_CEIL_DIV(p->k, (size_t)a->block_size), p->padded = p->blocks * (size_t)a->block_size;
  p->quantized = s && is_quantized(c, p);
  c->form = !s ? "a column at a time" : p->quantized ? "panels, 8-bit sums" : "panels";
  if (!s) return ox_ctx_plan(c, p->m ? (int64_t)p->n : 0, 2 * p->padded * sizeof(float));
  OX_TRY(pack(c, s, &p->packed));
  p->tall = !p->quantized && p->m >= s->v->many && c->in[IN_A]->dtype == OX_F32 && !s->order;
  if (p->tall) return ox_nbits_floats_plan(c, &p->floats, p->m, p->n, p->k);
  p->wide = c->in[IN_A]->dtype != OX_F32 || p->k != p->padded || s->order;
  p->split = splits(c, p), p->early = p->quantized || p->wide || p->split;
  p->row_bytes = ready_bytes(p);
  size_t all_panels = OX_CEIL_DIV(p->n, s->v->lanes);
  p->panels = OX_MAX(TILE_BYTES / s->panel_bytes, (size_t)1);
  size_t macs = OX_MAX(p->m * p->padded * s->v->lanes, (size_t)1);
  p->panels = OX_MIN(OX_MIN(p->panels, OX_MAX(TILE_MACS / macs, (size_t)1)), all_panels);
  c->scratch_per_worker = OX_MAX(p->padded, OX_MAX(s->v->rows, (size_t)BYTE_ROWS) * s->v->lanes) * sizeof(float);
  c->n_stages = 2;
  c->n_tiles[0] = p->early ? (int64_t)p->m : 0;
  c->n_tiles[1] = p->m ? (int64_t)OX_CEIL_DIV(all_panels, p->panels) : 0;
  size_t each = p->split ? ox_nbits_split_bytes(&s->f) : p->row_bytes;
  return !p->early || ox_mul_ok(p->m, each, &c->shared_bytes) ? NULL : ox_oom();
}

/* ---- run ---- */
/* Makes row |row| of A ready at |to|; |wide| has room for its floats. */
static void make_row(const ox_kernel_ctx *c, const nbits_prep *p, size_t row, float *wide, char *to) {
  const ox_tensor *a = c->in[IN_A];
  const nbits_state *s = c->state;
  float *x = p->quantized ? wide : (float *)(void *)to;
  const float *from = x;
  if (s->order) {
    ox_convert_select(c->isa)->load_f32[a->dtype](a->data, row * p->k, p->k, wide);
    for (size_t i = 0; i < p->k; i++) x[i] = wide[s->order[i]];
  } else if (p->wide) {
    ox_convert_select(c->isa)->load_f32[a->dtype](a->data, row * p->k, p->k, x);
    memset(x + p->k, 0, (p->padded - p->k) * sizeof *x);
  } else {
    from = (const float *)a->data + row * p->k;
  }
  float *scales = (float *)(void *)(to + OX_ROUND_UP(p->padded, (size_t)64));
  if (p->quantized) s->v->quantize(from, s->f.block, s->f.blocks, (int8_t *)to, scales, scales + p->blocks);
}

static const ox_tensor *bias_of(const ox_kernel_ctx *c) { return c->n_in > IN_BIAS ? c->in[IN_BIAS] : NULL; }

/* Whether a range of panels is read as several streams: panels of the first quarter of it, of the second, and so on. */
static bool is_abreast(const ox_kernel_ctx *c, const nbits_prep *p) {
  const nbits_state *s = c->state;
  return s->v->abreast && p->m == 1 && p->quantized && s->f.bits == 4 && c->out[0]->dtype == OX_F32 &&
         !(ox_cpu_kind() & OX_SLOW_L3);
}

/* Panels |panel|, |panel| + |step| and so on, by a quantized row. */
static void run_abreast(const ox_kernel_ctx *c, const nbits_prep *p, const ox_nbits_weights *w, size_t panel,
                        size_t step) {
  float biases[OX_NBITS_ABREAST][16];
  ox_nbits_tile t[OX_NBITS_ABREAST];
  const char *r = c->shared;
  for (size_t i = 0; i < OX_NBITS_ABREAST; i++, panel += step) {
    t[i] = ox_nbits_tile_of(c, w, bias_of(c), panel, biases[i]);
    t[i].q = (const int8_t *)r, t[i].q_scale = (const float *)(const void *)(r + OX_ROUND_UP(p->padded, (size_t)64));
    t[i].q_sum = t[i].q_scale + p->blocks;
  }
  w->v->abreast(t);
}

static void run_panel(const ox_kernel_ctx *c, const nbits_prep *p, const ox_nbits_weights *w, size_t panel,
                      float *out) {
  const ox_tensor *y = c->out[0];
  size_t lanes = w->v->lanes, col = panel * lanes;
  float biases[16];
  ox_nbits_tile t = ox_nbits_tile_of(c, w, bias_of(c), panel, biases);
  t.q_rs = p->row_bytes, t.s_rs = p->row_bytes / sizeof(float), t.a_rs = p->wide ? p->padded : p->k;
  size_t most = p->quantized ? (size_t)BYTE_ROWS : w->v->rows;
  for (size_t row = 0; row < p->m; row += t.m) { /* strips of equal height */
    t.m = OX_CEIL_DIV(p->m - row, OX_CEIL_DIV(p->m - row, most));
    const char *r = p->early && !p->split ? (const char *)c->shared + row * p->row_bytes : NULL;
    if (p->quantized) {
      t.q = (const int8_t *)r, t.q_scale = (const float *)(const void *)(r + OX_ROUND_UP(p->padded, (size_t)64));
      t.q_sum = t.q_scale + p->blocks;
    } else {
      t.a = p->wide ? (const float *)(const void *)r : (const float *)c->in[IN_A]->data + row * p->k;
    }
    t.c = y->dtype == OX_F32 ? (float *)y->data + row * p->n + col : out;
    t.c_rs = y->dtype == OX_F32 ? p->n : lanes;
    w->v->run(&t);
    for (size_t i = 0; y->dtype != OX_F32 && i < t.m; i++)
      ox_convert_select(c->isa)->store_f32[y->dtype](out + i * lanes, y->data, (row + i) * p->n + col, t.n,
                                                     &(ox_narrow_how){.saturate = true});
  }
}

/* Weights that were not packed: a column of floats at a time. */
static void run_plain(const ox_kernel_ctx *c, const nbits_prep *p, size_t col, float *w_col) {
  const nbits_attrs *a = c->attrs;
  const ox_convert *conv = ox_convert_select(c->isa);
  const ox_tensor *zeros = c->n_in > IN_ZERO ? c->in[IN_ZERO] : NULL, *y = c->out[0];
  const ox_tensor *group = c->n_in > IN_GROUP ? c->in[IN_GROUP] : NULL, *bias = bias_of(c);
  const ox_nbits_source w = source_of(a, c->in[IN_B], c->in[IN_SCALES], zeros);
  float *row = w_col + p->padded;
  for (size_t k = 0; k < p->k; k++) {
    size_t block = k / w.block, g = group ? (size_t)((const int32_t *)group->data)[k] : block;
    g = OX_MIN(g, w.blocks - 1);
    uint32_t q = ox_nbits_bits(w.b + (col * w.blocks + block) * w.blob, k % w.block * w.bits, w.bits);
    w_col[k] = ((float)q - ox_nbits_zero_point(&w, col, g)) * ox_nbits_scale(&w, col, g);
  }
  for (size_t m = 0; m < p->m; m++) {
    conv->load_f32[c->in[IN_A]->dtype](c->in[IN_A]->data, m * p->k, p->k, row);
    float sum = 0, add = 0;
    for (size_t k = 0; k < p->k; k++) sum += row[k] * w_col[k];
    if (bias) conv->load_f32[bias->dtype](bias->data, col, 1, &add);
    sum += add;
    conv->store_f32[y->dtype](&sum, y->data, m * p->n + col, 1, &(ox_narrow_how){.saturate = true});
  }
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  const nbits_prep *p = c->prep;
  const nbits_state *s = c->state;
  for (int64_t i = tiles.begin; !s && i < tiles.end; i++) run_plain(c, p, (size_t)i, scratch);
  if (!s) return NULL;
  const ox_nbits_weights w = {s->v, &s->f, *p->packed, s->panel_bytes, p->n};
  if (p->tall) {
    ox_nbits_floats_run(c, &p->floats, &w, c->in[IN_A], bias_of(c), stage, tiles, scratch);
    return NULL;
  }
  if (stage == 0 && p->split) {
    for (int64_t i = tiles.begin; i < tiles.end; i++) ox_nbits_split_begin(&w, c->in[IN_A]->data, (size_t)i, c->shared);
    return NULL;
  }
  if (stage == 0) {
    for (int64_t i = tiles.begin; i < tiles.end; i++)
      make_row(c, p, (size_t)i, scratch, (char *)c->shared + (size_t)i * p->row_bytes);
    return NULL;
  }
  size_t all_panels = OX_CEIL_DIV(p->n, s->v->lanes);
  size_t begin = (size_t)tiles.begin * p->panels, end = OX_MIN((size_t)tiles.end * p->panels, all_panels);
  if (p->split && ox_nbits_split_run(c, &w, bias_of(c), p->m, begin, end)) return NULL;
  if (is_abreast(c, p)) {
    const size_t step = (end - begin) / OX_NBITS_ABREAST;
    for (size_t i = 0; i < step; i++) run_abreast(c, p, &w, begin + i, step);
    begin += step * OX_NBITS_ABREAST;
  }
  for (size_t panel = begin; panel < end; panel++) run_panel(c, p, &w, panel, scratch);
  return NULL;
}

static double flops(const ox_kernel_ctx *c) {
  const nbits_prep *p = c->prep;
  return 2.0 * (double)p->m * (double)p->n * (double)p->k;
}

enum { FLOATS = OX_BIT(OX_F32) | OX_T_FLOAT16S };
static const ox_op ops[] = {
    {OX_SCHEMA(.name = "MatMulNBits", .domain = "com.microsoft", .since = 1, .min_in = 3, .max_in = 6, OX_ATTRS(attrs),
               .attrs_bytes = sizeof(nbits_attrs),
               .types = {FLOATS, OX_BIT(OX_U8), FLOATS, FLOATS | OX_BIT(OX_U8), OX_BIT(OX_I32), FLOATS},
               .vars = "T.T..T", .infer = infer),
     OX_KERNEL(.load = load, .prepare = prepare, .run = run, .flops = flops,
               .packs_in = 1u << IN_B | 1u << IN_SCALES | 1u << IN_ZERO)},
};
const ox_op_set ox_ops_matmul_nbits = {ops, OX_COUNT(ops)};
