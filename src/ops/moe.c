/* SPDX-License-Identifier: Apache-2.0
 * ops/moe.c - com.microsoft.MoE and QMoE: each token is processed by its k best experts (two or three linear layers
 * with float, or 2-, 4- or 8-bit weights); the result is their weighted sum. Tokens are sorted by expert, so that an
 * expert's weights are read once for all of its tokens. */
#include <math.h>
#include <string.h>

#include "base/cksize.h"
#include "graph/op_def.h"
#include "kern/ml/row_products.h"
#include "ops/shared/float_element.h"

typedef struct moe_attrs {
  int64_t k, swiglu_fusion, normalize_routing_weights, use_sparse_mixer, expert_weight_bits, block_size;
  int64_t fc1_expert_weight_bits, fc2_expert_weight_bits, fc3_expert_weight_bits;
  const char *activation_type, *quant_type;
  float activation_alpha, activation_beta, swiglu_limit;
  bool has_swiglu_limit;
} moe_attrs;

static const ox_attr_def attrs[] = {
    OX_ATTR_INT_IN(moe_attrs, k, 1, 1, OX_COUNT_MAX),
    OX_ATTR_INT(moe_attrs, swiglu_fusion, 0),
    OX_ATTR_INT(moe_attrs, normalize_routing_weights, 0),
    OX_ATTR_INT(moe_attrs, use_sparse_mixer, 0),
    OX_ATTR_INT_IN(moe_attrs, expert_weight_bits, 4, 2, 8),
    OX_ATTR_INT_IN(moe_attrs, block_size, 0, 0, OX_COUNT_MAX),
    OX_ATTR_INT_IN(moe_attrs, fc1_expert_weight_bits, 0, 0, 8),
    OX_ATTR_INT_IN(moe_attrs, fc2_expert_weight_bits, 0, 0, 8),
    OX_ATTR_INT_IN(moe_attrs, fc3_expert_weight_bits, 0, 0, 8),
    OX_ATTR_STR(moe_attrs, activation_type, "relu"),
    OX_ATTR_STR(moe_attrs, quant_type, "int"),
    OX_ATTR_FLOAT(moe_attrs, activation_alpha, 1),
    OX_ATTR_FLOAT(moe_attrs, activation_beta, 0),
    OX_ATTR_FLOAT_HAS(moe_attrs, swiglu_limit, 0),
};

enum { X, ROUTER, N_IN_FLOAT = 8, N_IN_QUANT = 21 };
enum { ROUTE, GATHER, FIRST, ACTIVATE, SECOND, COMBINE };

/* Indices of the inputs of one layer; 99: there is no such input. */
typedef struct fc_slots {
  uint8_t w, scale, bias, zero;
} fc_slots;
static const fc_slots float_slots[3] = {{2, 99, 3, 99}, {4, 99, 5, 99}, {6, 99, 7, 99}};
static const fc_slots quant_slots[3] = {{2, 3, 4, 11}, {5, 6, 7, 12}, {8, 9, 10, 13}};
enum { FC1, FC2, FC3, MIXING_WEIGHTS = 14 };

typedef enum moe_activation { RELU, GELU, SILU, SWIGLU, IDENTITY } moe_activation;

/* One layer of every expert: [experts, n, k]. */
typedef struct moe_fc {
  fc_slots in;
  int64_t n, k, bits, block, blocks; /* bits 0: floats; block: k elements share a scale */
  bool blocked;                      /* the model gives a block size: zero points lie per row */
} moe_fc;

typedef struct moe_prep {
  moe_fc fc[3];
  bool has_fc3;
  moe_activation activation;
  int64_t tokens, experts, top, hidden, inter;
  size_t at_expert, at_weight, at_place, at_first, at_x, at_h1, at_h3, at_act, at_y; /* in shared memory */
} moe_prep;

static ox_status *infer(ox_infer_ctx *c) { return ox_infer_same_as_input(c); }

/* ---- prepare ---- */
static ox_status *find_activation(const moe_attrs *a, moe_activation *out) {
  static const char *const names[] = {"relu", "gelu", "silu", "swiglu", "identity"};
  for (size_t i = 0; i < OX_COUNT(names); i++)
    if (!strcmp(a->activation_type, names[i])) return *out = (moe_activation)i, NULL;
  return ox_fail(OX_INVALID_MODEL, "unknown activation_type \"%.40s\"", a->activation_type);
}

static ox_status *bad_fc(const ox_kernel_ctx *c, uint32_t i, const moe_fc *f) {
  char text[OX_SHAPE_TEXT];
  return ox_fail(OX_SHAPE_MISMATCH, "input %u %s does not fit a layer of %lld x %lld", (unsigned)i,
                 ox_shape_text(&c->in[i]->shape, text), (long long)f->n, (long long)f->k);
}

/* Checks the inputs of a layer of n x k for |experts|. */
static ox_status *check_fc(const ox_kernel_ctx *c, const moe_fc *f, int64_t experts) {
  const ox_tensor *w = c->in[f->in.w];
  int64_t width = f->bits ? f->k * f->bits / 8 : f->k;
  const ox_shape want = ox_shape_of(3, (int64_t[]){experts, f->n, width});
  if (!ox_shape_equal(&w->shape, &want) || (f->bits ? w->dtype != OX_U8 : w->dtype != c->in[X]->dtype))
    return bad_fc(c, f->in.w, f);
  if (ox_ctx_has(c, f->in.bias) &&
      (ox_shape_count(&c->in[f->in.bias]->shape) != experts * f->n || c->in[f->in.bias]->dtype != c->in[X]->dtype))
    return bad_fc(c, f->in.bias, f);
  if (!f->bits) return NULL;
  if ((f->bits != 2 && f->bits != 4 && f->bits != 8) || f->k * f->bits % 8 || f->k % f->block)
    return ox_fail(OX_INVALID_MODEL, "%lld-bit weights of %lld columns in blocks of %lld", (long long)f->bits,
                   (long long)f->k, (long long)f->block);
  if (!ox_ctx_has(c, f->in.scale) || ox_shape_count(&c->in[f->in.scale]->shape) != experts * f->n * f->blocks)
    return ox_fail(OX_SHAPE_MISMATCH, "QMoE: scales are missing or do not fit");
  int64_t zeros = f->blocked ? f->n * OX_CEIL_DIV(f->blocks * f->bits, 8) : OX_CEIL_DIV(f->n * f->bits, 8);
  if (ox_ctx_has(c, f->in.zero) &&
      (ox_shape_count(&c->in[f->in.zero]->shape) != experts * zeros || c->in[f->in.zero]->dtype != OX_U8))
    return bad_fc(c, f->in.zero, f);
  return NULL;
}

static ox_status *read_layers(const ox_kernel_ctx *c, moe_prep *p, const fc_slots *slots) {
  const moe_attrs *a = c->attrs;
  const ox_shape *x = &c->in[X]->shape, *r = &c->in[ROUTER]->shape;
  bool quantized = slots == quant_slots;
  for (int i = FC1; i <= FC2; i++)
    if (!ox_ctx_has(c, slots[i].w) || c->in[slots[i].w]->shape.rank != 3)
      return ox_fail(OX_SHAPE_MISMATCH, "the experts' weights must be 3-D");
  if ((x->rank != 2 && x->rank != 3) || r->rank != 2)
    return ox_fail(OX_SHAPE_MISMATCH, "the input must be 2-D or 3-D and the router's 2-D");
  p->hidden = x->dim[x->rank - 1], p->tokens = ox_shape_span(x, 0, x->rank - 1), p->experts = r->dim[1];
  p->top = a->k;
  if (r->dim[0] != p->tokens || p->top < 1 || p->top > p->experts)
    return ox_fail(OX_SHAPE_MISMATCH, "router of %lld x %lld for %lld tokens, k %lld", (long long)r->dim[0],
                   (long long)p->experts, (long long)p->tokens, (long long)p->top);
  p->has_fc3 = ox_ctx_has(c, slots[FC3].w);
  bool fused = p->activation == SWIGLU && a->swiglu_fusion;
  if (p->activation == SWIGLU && !fused && !p->has_fc3)
    return ox_fail(OX_INVALID_MODEL, "swiglu needs swiglu_fusion or fc3");
  int64_t n1 = c->in[slots[FC1].w]->shape.dim[1];
  p->inter = fused ? n1 / 2 : n1;
  int64_t widest = OX_MAX(n1, p->hidden), all;
  if (p->tokens > OX_COUNT_MAX || p->experts > OX_COUNT_MAX || widest > OX_COUNT_MAX ||
      !ox_mul_i64_ok(p->tokens * p->top, widest, &all) || all > INT64_MAX / 64)
    return ox_fail(OX_LIMIT, "%lld tokens for %lld of %lld experts, layers up to %lld wide: too large",
                   (long long)p->tokens, (long long)p->top, (long long)p->experts, (long long)widest);
  const int64_t size[3][2] = {{n1, p->hidden}, {p->hidden, p->inter}, {p->inter, p->hidden}};
  const int64_t bits[3] = {a->fc1_expert_weight_bits, a->fc2_expert_weight_bits, a->fc3_expert_weight_bits};
  for (int i = 0; i < (p->has_fc3 ? 3 : 2); i++) {
    moe_fc *f = &p->fc[i];
    *f = (moe_fc){.in = slots[i], .n = size[i][0], .k = size[i][1], .block = 1, .blocks = 1};
    if (quantized) {
      f->bits = bits[i] ? bits[i] : a->expert_weight_bits;
      f->blocked = a->block_size > 0;
      f->block = f->blocked ? a->block_size : OX_MAX(f->k, 1);
      f->blocks = OX_CEIL_DIV(f->k, f->block);
    }
    OX_TRY(check_fc(c, f, p->experts));
  }
  return NULL;
}

static size_t take(size_t *at, int64_t count, size_t item) {
  size_t here = *at;
  *at += OX_ROUND_UP((size_t)count * item, OX_ALIGN_BYTES);
  return here;
}

static int64_t panels(const moe_fc *f) { return OX_CEIL_DIV(f->n, OX_PANEL_ROWS); }

static ox_status *prepare_with(ox_kernel_ctx *c, const fc_slots *slots) {
  const moe_attrs *a = c->attrs;
  moe_prep *p = ox_ctx_alloc(c, sizeof *p);
  size_t at = 0;
  if (!p) return ox_oom();
  c->prep = p;
  if (a->use_sparse_mixer || strcmp(a->quant_type, "int"))
    return ox_fail(OX_NOT_IMPLEMENTED, "a sparse mixer, or quant_type \"%.20s\"", a->quant_type);
  OX_TRY(find_activation(a, &p->activation));
  OX_TRY(read_layers(c, p, slots));
  int64_t rows = p->tokens * p->top;
  p->at_expert = take(&at, rows, sizeof(int64_t)), p->at_place = take(&at, rows, sizeof(int64_t));
  p->at_weight = take(&at, rows, sizeof(float)), p->at_first = take(&at, p->experts + 1, sizeof(int64_t));
  p->at_x = take(&at, rows * p->hidden, sizeof(float)), p->at_h1 = take(&at, rows * p->fc[FC1].n, sizeof(float));
  p->at_h3 = take(&at, p->has_fc3 ? rows * p->inter : 0, sizeof(float));
  p->at_act = take(&at, rows * p->inter, sizeof(float)), p->at_y = take(&at, rows * p->hidden, sizeof(float));
  c->shared_bytes = at;
  c->n_stages = COMBINE + 1;
  c->n_tiles[ROUTE] = 1, c->n_tiles[GATHER] = rows, c->n_tiles[ACTIVATE] = rows, c->n_tiles[COMBINE] = p->tokens;
  c->n_tiles[FIRST] = p->experts * (panels(&p->fc[FC1]) + (p->has_fc3 ? panels(&p->fc[FC3]) : 0));
  c->n_tiles[SECOND] = p->experts * panels(&p->fc[FC2]);
  c->scratch_per_worker = (size_t)OX_MAX(OX_MAX(p->hidden, p->inter), 1) * OX_PANEL_ROWS * sizeof(float);
  return NULL;
}

static ox_status *prepare(ox_kernel_ctx *c) { return prepare_with(c, float_slots); }
static ox_status *prepare_quantized(ox_kernel_ctx *c) { return prepare_with(c, quant_slots); }

/* ---- run: routing ---- */
static void *shared(const ox_kernel_ctx *c, size_t at) { return (char *)c->shared + at; }

/* The best experts of token |t|, best first, ties by index; and the weights of their results. */
static void route_token(const ox_kernel_ctx *c, int64_t t, int64_t *expert, float *weight) {
  const moe_prep *p = c->prep;
  const ox_tensor *r = c->in[ROUTER];
  bool given = ox_ctx_has(c, MIXING_WEIGHTS);
  double sum = 0, chosen = 0;
  for (int64_t j = 0; j < p->top; j++) {
    int64_t best = -1;
    for (int64_t e = 0; e < p->experts; e++) {
      bool taken = false;
      for (int64_t i = 0; i < j; i++) taken = taken || expert[i] == e;
      if (!taken && (best < 0 || ox_float_at(r, t * p->experts + e) > ox_float_at(r, t * p->experts + best))) best = e;
    }
    expert[j] = best;
  }
  float most = ox_float_at(r, t * p->experts + expert[0]);
  for (int64_t e = 0; e < p->experts; e++) sum += exp((double)ox_float_at(r, t * p->experts + e) - most);
  for (int64_t j = 0; j < p->top; j++) {
    int64_t i = t * p->experts + expert[j];
    weight[j] = given ? ox_float_at(c->in[MIXING_WEIGHTS], i) : (float)(exp((double)ox_float_at(r, i) - most) / sum);
    chosen += weight[j];
  }
  /* QMoE takes its softmax over the chosen experts alone */
  bool among = ((const moe_attrs *)c->attrs)->normalize_routing_weights || (p->fc[FC1].bits && !given);
  if (among && chosen != 0)
    for (int64_t j = 0; j < p->top; j++) weight[j] = (float)(weight[j] / chosen);
}

/* Chooses experts, and sorts the pairs of token and expert by expert: place[pair] is a pair's row from then on. */
static void route(const ox_kernel_ctx *c) {
  const moe_prep *p = c->prep;
  int64_t *expert = shared(c, p->at_expert), *place = shared(c, p->at_place), *first = shared(c, p->at_first);
  float *weight = shared(c, p->at_weight);
  memset(first, 0, (size_t)(p->experts + 1) * sizeof *first);
  for (int64_t t = 0; t < p->tokens; t++) route_token(c, t, expert + t * p->top, weight + t * p->top);
  for (int64_t i = 0; i < p->tokens * p->top; i++) first[expert[i] + 1]++;
  for (int64_t e = 0; e < p->experts; e++) first[e + 1] += first[e];
  for (int64_t i = 0; i < p->tokens * p->top; i++) place[i] = first[expert[i]]++;
  for (int64_t e = p->experts; e > 0; e--) first[e] = first[e - 1];
  first[0] = 0;
}

static void gather(const ox_kernel_ctx *c, int64_t pair) {
  const moe_prep *p = c->prep;
  float *x = (float *)shared(c, p->at_x) + ((const int64_t *)shared(c, p->at_place))[pair] * p->hidden;
  for (int64_t i = 0; i < p->hidden; i++) x[i] = ox_float_at(c->in[X], pair / p->top * p->hidden + i);
}

/* ---- run: layers ---- */
static unsigned bits_at(const ox_tensor *t, int64_t bit, int64_t bits) {
  return (unsigned)(((const uint8_t *)t->data)[bit / 8] >> bit % 8) & ((1u << bits) - 1);
}

/* Row |row| of expert |e| as float32, every OX_PANEL_ROWS-th element of |out|. */
static void read_weights(const ox_kernel_ctx *c, const moe_fc *f, int64_t e, int64_t row, float *out) {
  const ox_tensor *w = c->in[f->in.w];
  int64_t line = e * f->n + row, per_row = OX_CEIL_DIV(f->blocks * f->bits, 8) * 8;
  if (!f->bits) {
    for (int64_t i = 0; i < f->k; i++) out[i * OX_PANEL_ROWS] = ox_float_at(w, line * f->k + i);
    return;
  }
  int64_t zero_row = f->blocked ? line * per_row : e * OX_CEIL_DIV(f->n * f->bits, 8) * 8 + row * f->bits;
  for (int64_t b = 0; b < f->blocks; b++) {
    float scale = ox_float_at(c->in[f->in.scale], line * f->blocks + b);
    int zero = 1 << (f->bits - 1);
    if (ox_ctx_has(c, f->in.zero)) zero = (int)bits_at(c->in[f->in.zero], zero_row + b * f->bits, f->bits);
    for (int64_t i = b * f->block; i < (b + 1) * f->block; i++)
      out[i * OX_PANEL_ROWS] = (float)((int)bits_at(w, (line * f->k + i) * f->bits, f->bits) - zero) * scale;
  }
}

/* Output columns of panel |panel| of expert |e| for all of its tokens. */
static void run_panel(const ox_kernel_ctx *c, const moe_fc *f, int64_t e, int64_t panel, const float *x, float *y,
                      float *scratch) {
  const int64_t *first = shared(c, ((const moe_prep *)c->prep)->at_first);
  int64_t row = panel * OX_PANEL_ROWS, n = OX_MIN(f->n - row, OX_PANEL_ROWS), m = first[e + 1] - first[e];
  if (!m) return;
  for (int64_t i = 0; i < OX_PANEL_ROWS; i++) {
    if (i < n)
      read_weights(c, f, e, row + i, scratch + i);
    else
      for (int64_t k = 0; k < f->k; k++) scratch[k * OX_PANEL_ROWS + i] = 0;
  }
  ox_row_panels p = {scratch, n, f->k};
  y += first[e] * f->n + row;
  ox_row_products_run(&p, c->isa, false, x + first[e] * f->k, m, y, f->n);
  for (int64_t r = 0; ox_ctx_has(c, f->in.bias) && r < m; r++)
    for (int64_t i = 0; i < n; i++) y[r * f->n + i] += ox_float_at(c->in[f->in.bias], e * f->n + row + i);
}

static void run_first(const ox_kernel_ctx *c, int64_t tile, float *scratch) {
  const moe_prep *p = c->prep;
  int64_t own = panels(&p->fc[FC1]), all = own + (p->has_fc3 ? panels(&p->fc[FC3]) : 0), panel = tile % all;
  const float *x = shared(c, p->at_x);
  if (panel < own)
    run_panel(c, &p->fc[FC1], tile / all, panel, x, shared(c, p->at_h1), scratch);
  else
    run_panel(c, &p->fc[FC3], tile / all, panel - own, x, shared(c, p->at_h3), scratch);
}

static float activate(moe_activation how, float x) {
  if (how == RELU) return x > 0 ? x : 0;
  if (how == GELU) return 0.5f * x * (1 + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
  return how == SILU ? x / (1 + expf(-x)) : x;
}

static float swiglu(const moe_attrs *a, float g, float l) {
  if (a->has_swiglu_limit) g = fminf(g, a->swiglu_limit), l = fminf(fmaxf(l, -a->swiglu_limit), a->swiglu_limit);
  return g / (1 + expf(-a->activation_alpha * g)) * (l + a->activation_beta);
}

static void activate_row(const ox_kernel_ctx *c, int64_t row) {
  const moe_prep *p = c->prep;
  const moe_attrs *a = c->attrs;
  const float *h = (const float *)shared(c, p->at_h1) + row * p->fc[FC1].n;
  const float *h3 = p->has_fc3 ? (const float *)shared(c, p->at_h3) + row * p->inter : NULL;
  float *y = (float *)shared(c, p->at_act) + row * p->inter;
  for (int64_t i = 0; i < p->inter; i++) {
    if (p->activation != SWIGLU)
      y[i] = activate(p->activation, h[i]) * (h3 ? h3[i] : 1);
    else if (a->swiglu_fusion == 1)
      y[i] = swiglu(a, h[2 * i], h[2 * i + 1]);
    else
      y[i] = swiglu(a, h[i], a->swiglu_fusion ? h[p->inter + i] : h3[i]);
  }
}

static void combine(const ox_kernel_ctx *c, int64_t t) {
  const moe_prep *p = c->prep;
  const ox_tensor *out = c->out[0];
  const int64_t *place = (const int64_t *)shared(c, p->at_place) + t * p->top;
  const float *weight = (const float *)shared(c, p->at_weight) + t * p->top, *y = shared(c, p->at_y);
  for (int64_t i = 0; i < p->hidden; i++) {
    float sum = 0;
    for (int64_t j = 0; j < p->top; j++) sum += weight[j] * y[place[j] * p->hidden + i];
    ox_float_put(out, t * p->hidden + i, sum);
  }
}

static ox_status *run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  const moe_prep *p = c->prep;
  for (int64_t t = tiles.begin; t < tiles.end; t++) {
    int64_t per = OX_MAX(panels(&p->fc[FC2]), 1);
    switch (stage) {
      case ROUTE:
        route(c);
        break;
      case GATHER:
        gather(c, t);
        break;
      case FIRST:
        run_first(c, t, scratch);
        break;
      case ACTIVATE:
        activate_row(c, t);
        break;
      case SECOND:
        run_panel(c, &p->fc[FC2], t / per, t % per, shared(c, p->at_act), shared(c, p->at_y), scratch);
        break;
      default:
        combine(c, t);
        break;
    }
  }
  return NULL;
}

#define HALVES (OX_BIT(OX_F32) | OX_T_FLOAT16S)
#define F32 OX_BIT(OX_F32)
#define WEIGHTS (OX_BIT(OX_U8) | OX_BIT(OX_F8E4M3FN))
#define SCALES (HALVES | OX_BIT(OX_F8E8M0) | OX_BIT(OX_F8E4M3FN))
static const ox_op ops[] = {
    {OX_SCHEMA(.name = "MoE", .domain = "com.microsoft", .since = 1, .min_in = 3, .max_in = N_IN_FLOAT,
               .types = {HALVES}, .vars = "TTTTTTTT", OX_ATTRS(attrs), .attrs_bytes = sizeof(moe_attrs),
               .infer = infer),
     OX_KERNEL(.prepare = prepare, .run = run)},
    {OX_SCHEMA(.name = "QMoE", .domain = "com.microsoft", .since = 1, .min_in = 3, .max_in = N_IN_QUANT,
               .types = {HALVES, HALVES, WEIGHTS, SCALES, HALVES, WEIGHTS, SCALES, HALVES},
               .more_types = (const uint32_t[]){WEIGHTS, SCALES, HALVES, WEIGHTS, WEIGHTS, WEIGHTS, HALVES, F32, F32,
                                                F32, F32, SCALES, SCALES},
               .vars = "TTUVTUVTUVTUUUT....VV", OX_ATTRS(attrs), .attrs_bytes = sizeof(moe_attrs), .infer = infer),
     OX_KERNEL(.prepare = prepare_quantized, .run = run)},
};
const ox_op_set ox_ops_moe = {ops, OX_COUNT(ops)};
