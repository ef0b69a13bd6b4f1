/* SPDX-License-Identifier: Apache-2.0
 * ops/moe_test.c - mixtures of experts against a loop over tokens in double: float weights and codes of 2, 4 and 8
 * bits, every way to gate, ragged sizes, few tokens and many, constant weights or not, on every instruction set. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "onyx/onyx.h"
#include "support/check.h"
#include "support/levels.h"
#include "support/one_node.h"

enum { RELU, GELU, SILU, SWIGLU, IDENTITY };
static const char *const act_names[] = {"relu", "gelu", "silu", "swiglu", "identity"};
enum { SPREAD, ALL_TO_ONE, NONE_TO_LAST }; /* where tokens go */
enum { LAYERS = 3, BIAS = 1, THIRD = 2, ZEROS = 4, NORMALIZE = 8, GIVEN = 16, LIMIT = 32 };

typedef struct moe_case {
  int bits, block; /* bits 0: floats */
  int64_t tokens, experts, top, hidden, inter;
  int act, fusion, where, with; /* with: BIAS ... */
  uint32_t dtype;
} moe_case;

static const moe_case cases[] = {
    /* floats: the least, no tokens, ragged panels, several tiles, strips of rows, every gate */
    {0, 0, 1, 1, 1, 1, 1, RELU, 0, SPREAD, 0, OX_F32},
    {0, 0, 0, 2, 1, 8, 8, RELU, 0, SPREAD, 0, OX_F32},
    {0, 0, 1, 4, 2, 33, 65, SILU, 0, SPREAD, BIAS, OX_F32},
    {0, 0, 19, 5, 2, 32, 16, GELU, 0, SPREAD, BIAS | NORMALIZE, OX_F32},
    {0, 0, 40, 3, 3, 70, 131, IDENTITY, 0, SPREAD, BIAS | THIRD, OX_F32},
    {0, 0, 9, 4, 1, 300, 20, SWIGLU, 1, ALL_TO_ONE, BIAS, OX_F32},
    {0, 0, 7, 4, 2, 20, 300, SWIGLU, 2, NONE_TO_LAST, LIMIT, OX_F32},
    {0, 0, 5, 2, 1, 24, 40, SWIGLU, 0, SPREAD, BIAS | THIRD, OX_F32},
    {0, 0, 3, 3, 2, 40, 90, SILU, 0, SPREAD, BIAS, OX_F16},
    {0, 0, 13, 3, 2, 40, 90, RELU, 0, SPREAD, THIRD, OX_BF16},
    /* codes: a row has one scale */
    {8, 0, 1, 1, 1, 1, 1, RELU, 0, SPREAD, 0, OX_F32},
    {4, 0, 1, 4, 2, 32, 72, SILU, 0, SPREAD, BIAS, OX_F32},
    {4, 0, 19, 5, 2, 96, 40, GELU, 0, SPREAD, BIAS | ZEROS, OX_F32},
    {4, 0, 3, 2, 1, 262, 10, RELU, 0, SPREAD, ZEROS, OX_F32}, /* whole words do not divide a row */
    {4, 0, 70, 3, 2, 520, 136, SILU, 0, NONE_TO_LAST, BIAS, OX_F32},
    {2, 0, 4, 3, 2, 48, 80, IDENTITY, 0, SPREAD, BIAS | ZEROS, OX_F32},
    {2, 0, 12, 3, 1, 16, 272, SILU, 0, ALL_TO_ONE, ZEROS | GIVEN, OX_F32},
    {8, 0, 2, 3, 2, 100, 36, SILU, 0, SPREAD, ZEROS | THIRD, OX_F32},
    {8, 0, 33, 2, 1, 516, 12, GELU, 0, SPREAD, BIAS | GIVEN | NORMALIZE, OX_F32},
    /* in blocks */
    {4, 32, 1, 4, 2, 64, 96, SWIGLU, 1, SPREAD, BIAS, OX_F32},
    {4, 32, 37, 4, 2, 64, 96, SWIGLU, 1, SPREAD, BIAS | ZEROS | LIMIT, OX_F32},
    {4, 20, 6, 3, 2, 40, 60, SWIGLU, 2, SPREAD, ZEROS, OX_F32}, /* blocks that the panels do not have */
    {4, 512, 6, 2, 1, 512, 512, SILU, 0, SPREAD, BIAS | ZEROS, OX_F32},
    {2, 16, 5, 3, 1, 48, 80, RELU, 0, NONE_TO_LAST, BIAS | ZEROS, OX_F32},
    {8, 16, 4, 3, 2, 48, 80, SILU, 0, SPREAD, BIAS | ZEROS | THIRD, OX_F32},
    {8, 64, 50, 3, 2, 128, 64, SILU, 0, SPREAD, ZEROS, OX_F16},
    {4, 32, 1, 3, 2, 64, 96, GELU, 0, SPREAD, BIAS, OX_BF16},
};

/* ---- data: multiples of 1 / 64 that all types of float have ---- */
static uint32_t seed = 5;
static uint32_t draw(uint32_t n) { return (test_random(&seed) >> 8) % n; }

typedef struct layer {
  int64_t n, k;
  double *w, *bias; /* [experts, n, k], [experts, n] */
  void *data, *scale, *zero, *bias_data;
  int64_t bytes, blocks, zero_bytes; /* of data: of a row; of an expert's zero points */
} layer;

typedef struct problem {
  const moe_case *t;
  layer l[LAYERS];
  double *x, *router, *given;
  void *x_data, *router_data, *given_data;
} problem;

static void put(uint32_t dtype, void *to, int64_t i, double v) {
  if (dtype == OX_F32)
    ((float *)to)[i] = (float)v;
  else
    ((uint16_t *)to)[i] = dtype == OX_F16 ? ox_f16_from_f32((float)v) : ox_bf16_from_f32((float)v);
}

static void put_bits(uint8_t *p, int64_t at, uint32_t x) { p[at / 8] |= (uint8_t)(x << at % 8); }

/* |n| numbers of at most |most| / 64, as doubles and in the type of the case. */
static double *numbers(const problem *p, int64_t n, int most, void **out_data) {
  double *v = calloc((size_t)n + 1, sizeof *v);
  *out_data = calloc((size_t)n + 16, 4);
  for (int64_t i = 0; i < n; i++) {
    v[i] = ((double)draw((uint32_t)(2 * most + 1)) - most) / 64;
    put(p->t->dtype, *out_data, i, v[i]);
  }
  return v;
}

static void make_codes(problem *p, layer *l) {
  const moe_case *t = p->t;
  const int64_t block = t->block ? t->block : l->k, rows = t->experts * l->n;
  l->blocks = l->k / block, l->bytes = l->k * t->bits / 8;
  int64_t zero_row = t->block ? (l->blocks * t->bits + 7) / 8 * 8 : t->bits;
  l->zero_bytes = (l->n * zero_row + 7) / 8;
  l->data = calloc((size_t)(rows * l->bytes) + 16, 1), l->scale = calloc((size_t)(rows * l->blocks) + 16, 4);
  l->zero = calloc((size_t)(t->experts * l->zero_bytes) + 16, 1), l->w = calloc((size_t)(rows * l->k), sizeof *l->w);
  for (int64_t i = 0; i < rows * l->blocks; i++) {
    int64_t row = i / l->blocks, e = row / l->n;
    uint32_t zero = t->with & ZEROS ? draw(1u << t->bits) : 1u << (t->bits - 1);
    double scale = (draw(8) + 1) / (16.0 * (1 << t->bits));
    put(t->dtype, l->scale, i, scale);
    put_bits(l->zero, e * l->zero_bytes * 8 + row % l->n * zero_row + i % l->blocks * t->bits, zero);
    for (int64_t k = i * block; k < (i + 1) * block; k++) {
      uint32_t code = draw(1u << t->bits);
      put_bits(l->data, k * t->bits, code);
      l->w[k] = ((double)code - zero) * scale;
    }
  }
}

static void make_layer(problem *p, int i, int64_t n, int64_t k) {
  layer *l = &p->l[i];
  l->n = n, l->k = k;
  if (p->t->bits)
    make_codes(p, l);
  else
    l->w = numbers(p, p->t->experts * n * k, 16, &l->data);
  l->bias = numbers(p, p->t->experts * n, 32, &l->bias_data);
}

static void make(problem *p, const moe_case *t) {
  *p = (problem){.t = t};
  p->x = numbers(p, t->tokens * t->hidden, 64, &p->x_data);
  p->router = numbers(p, t->tokens * t->experts, 100, &p->router_data);
  p->given = numbers(p, t->tokens * t->experts, 64, &p->given_data);
  for (int64_t i = 0; i < t->tokens * t->experts; i++) {
    int64_t e = i % t->experts;
    if (t->where == ALL_TO_ONE && e == 0) put(t->dtype, p->router_data, i, p->router[i] = 3);
    if (t->where == NONE_TO_LAST && e == t->experts - 1) put(t->dtype, p->router_data, i, p->router[i] = -3);
    put(t->dtype, p->given_data, i, p->given[i] = fabs(p->given[i]) + 0.25);
  }
  bool fused = t->act == SWIGLU && t->fusion;
  make_layer(p, 0, fused ? 2 * t->inter : t->inter, t->hidden);
  make_layer(p, 1, t->hidden, t->inter);
  if (t->with & THIRD) make_layer(p, 2, t->inter, t->hidden);
}

static void release(problem *p) {
  void *own[] = {p->x, p->router, p->given, p->x_data, p->router_data, p->given_data};
  for (size_t i = 0; i < OX_COUNT(own); i++) free(own[i]);
  for (int i = 0; i < LAYERS; i++) {
    void *all[] = {p->l[i].w, p->l[i].bias, p->l[i].data, p->l[i].scale, p->l[i].zero, p->l[i].bias_data};
    for (size_t k = 0; k < OX_COUNT(all); k++) free(all[k]);
  }
}

/* ---- the oracle ---- */
typedef struct num {
  double v, size; /* size: of what is added up, so a measure of its rounding */
} num;

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

static double act_of(int act, double x) {
  if (act == RELU) return x > 0 ? x : 0;
  if (act == GELU) return 0.5 * x * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
  return act == SILU ? x * sigmoid(x) : x;
}

enum { ALPHA_64THS = 109, BETA_64THS = 32, LIMIT_64THS = 40 };

static num swiglu(const moe_case *t, num g, num l) {
  double limit = LIMIT_64THS / 64.0, gate = g.v, linear = l.v;
  if (t->with & LIMIT) gate = fmin(gate, limit), linear = fmax(fmin(linear, limit), -limit);
  double y = gate * sigmoid(ALPHA_64THS / 64.0 * gate) * (linear + BETA_64THS / 64.0);
  return (num){y, (g.size + 1) * (l.size + 1)};
}

static void multiply(const problem *p, int i, int64_t e, const num *x, num *y) {
  const layer *l = &p->l[i];
  for (int64_t n = 0; n < l->n; n++) {
    const double *w = l->w + (e * l->n + n) * l->k, bias = p->t->with & BIAS ? l->bias[e * l->n + n] : 0;
    y[n] = (num){bias, fabs(bias)};
    for (int64_t k = 0; k < l->k; k++) y[n].v += w[k] * x[k].v, y[n].size += fabs(w[k]) * x[k].size;
  }
}

static void run_expert(const problem *p, int64_t e, const num *x, num *h, num *h3, num *y) {
  const moe_case *t = p->t;
  multiply(p, 0, e, x, h);
  if (t->with & THIRD) multiply(p, 2, e, x, h3);
  for (int64_t i = 0; i < t->inter; i++) {
    if (t->act != SWIGLU)
      h[i].v = act_of(t->act, h[i].v);
    else if (t->fusion == 1)
      h[i] = swiglu(t, h[2 * i], h[2 * i + 1]);
    else
      h[i] = swiglu(t, h[i], t->fusion ? h[t->inter + i] : h3[i]);
    if (t->act != SWIGLU && t->with & THIRD) h[i] = (num){h[i].v * h3[i].v, h[i].size * h3[i].size};
  }
  multiply(p, 1, e, h, y);
}

/* The weights of the experts for a token, 0 for those that are not chosen. */
static void route(const problem *p, int64_t token, double *weight) {
  const moe_case *t = p->t;
  const double *r = p->router + token * t->experts;
  double sum = 0, chosen = 0;
  for (int64_t e = 0; e < t->experts; e++) weight[e] = 0, sum += exp(r[e]);
  for (int64_t j = 0; j < t->top; j++) {
    int64_t best = -1;
    for (int64_t e = 0; e < t->experts; e++)
      if (weight[e] == 0 && (best < 0 || r[e] > r[best])) best = e;
    weight[best] = t->with & GIVEN ? p->given[token * t->experts + best] : exp(r[best]) / sum;
    chosen += weight[best];
  }
  if (t->with & NORMALIZE || (t->bits && !(t->with & GIVEN)))
    for (int64_t e = 0; e < t->experts; e++) weight[e] /= chosen;
}

static void check(const problem *p, const ox_tensor *out, const char *how) {
  const moe_case *t = p->t;
  const double unit = t->dtype == OX_F32 ? 0x1p-24 : t->dtype == OX_F16 ? 0x1p-11 : 0x1p-8;
  int64_t most = OX_MAX(2 * t->inter, t->hidden);
  num *room = calloc((size_t)(4 * most + t->hidden), sizeof *room), *x = room, *h = x + most, *h3 = h + most,
      *y = h3 + most, *sum = y + most;
  double *weight = calloc((size_t)t->experts, sizeof *weight);
  for (int64_t token = 0; token < t->tokens; token++) {
    route(p, token, weight);
    for (int64_t i = 0; i < t->hidden; i++) {
      x[i].v = p->x[token * t->hidden + i], x[i].size = fabs(x[i].v);
      sum[i] = (num){0, 0};
    }
    for (int64_t e = 0; e < t->experts; e++) {
      if (weight[e] == 0) continue;
      run_expert(p, e, x, h, h3, y);
      for (int64_t i = 0; i < t->hidden; i++) sum[i].v += weight[e] * y[i].v, sum[i].size += weight[e] * y[i].size;
    }
    for (int64_t i = 0; i < t->hidden; i++) {
      double got = ox_tensor_element(out, token * t->hidden + i);
      if (!(fabs(got - sum[i].v) <= 1e-6 * sum[i].size + unit * fabs(sum[i].v)))
        fail_msg("case %d, %s: token %d, element %d is %.9g, wanted %.9g", (int)(t - cases), how, (int)token, (int)i,
                 got, sum[i].v);
    }
  }
  free(room), free(weight);
}

/* ---- the operator ---- */
typedef void add_fn(one_node *n, uint32_t dtype, int rank, const int64_t *dims, const void *data);

static void omit(one_node *n) { one_node_input(n, OX_UNDEFINED, -1, NULL, NULL); }

static void add_layer(one_node *n, const problem *p, int i, add_fn *add) {
  const moe_case *t = p->t;
  const layer *l = &p->l[i];
  if (!l->w) {
    for (int k = 0; k < (t->bits ? 3 : 2); k++) omit(n);
    return;
  }
  if (t->bits) {
    add(n, OX_U8, 3, (int64_t[]){t->experts, l->n, l->bytes}, l->data);
    add(n, t->dtype, t->block ? 3 : 2, (int64_t[]){t->experts, l->n, l->blocks}, l->scale);
  } else {
    add(n, t->dtype, 3, (int64_t[]){t->experts, l->n, l->k}, l->data);
  }
  if (t->with & BIAS)
    one_node_input(n, t->dtype, 2, (int64_t[]){t->experts, l->n}, l->bias_data);
  else
    omit(n);
}

static void build(one_node *n, const problem *p, add_fn *add) {
  const moe_case *t = p->t;
  one_node_init(n, "com.microsoft", t->bits ? "QMoE" : "MoE", 1, 1);
  one_node_int(n, "k", t->top), one_node_int(n, "swiglu_fusion", t->fusion);
  one_node_str(n, "activation_type", act_names[t->act]);
  one_node_int(n, "normalize_routing_weights", t->with & NORMALIZE ? 1 : 0);
  one_node_float(n, "activation_alpha", ALPHA_64THS / 64.0f), one_node_float(n, "activation_beta", BETA_64THS / 64.0f);
  if (t->with & LIMIT) one_node_float(n, "swiglu_limit", LIMIT_64THS / 64.0f);
  if (t->bits) one_node_int(n, "expert_weight_bits", t->bits);
  if (t->block) one_node_int(n, "block_size", t->block);
  one_node_input(n, t->dtype, 2, (int64_t[]){t->tokens, t->hidden}, p->x_data);
  one_node_input(n, t->dtype, 2, (int64_t[]){t->tokens, t->experts}, p->router_data);
  for (int i = 0; i < LAYERS; i++) add_layer(n, p, i, add);
  for (int i = 0; i < LAYERS && t->bits; i++) {
    const layer *l = &p->l[i];
    if (!l->w || !(t->with & ZEROS))
      omit(n);
    else
      add(n, OX_U8, 2, (int64_t[]){t->experts, l->zero_bytes}, l->zero);
  }
  if (t->with & GIVEN) one_node_input(n, t->dtype, 2, (int64_t[]){t->tokens, t->experts}, p->given_data);
}

/* A tile at a time and all at once have the same bits. */
static void check_case(const moe_case *t, uint32_t isa, const char *level) {
  problem p;
  make(&p, t);
  for (int constant = 0; constant < 2; constant++) {
    one_node n[2];
    for (int i = 0; i < 2; i++) {
      build(&n[i], &p, constant ? one_node_const : one_node_input);
      n[i].isa = isa, n[i].run_tiles = i;
      CHECK_OK(one_node_run(&n[i]));
    }
    check(&p, &n[0].out[0], level);
    assert_int_equal(n[0].out[0].bytes, n[1].out[0].bytes);
    if (n[0].out[0].bytes) assert_memory_equal(n[0].out[0].data, n[1].out[0].data, n[0].out[0].bytes);
    one_node_deinit(&n[0]), one_node_deinit(&n[1]);
  }
  release(&p);
}

static void test_experts(void **state) {
  (void)state;
  for (size_t l = 0; level_next(&l); l++)
    for (size_t i = 0; i < OX_COUNT(cases); i++) check_case(&cases[i], test_levels[l].have, test_levels[l].name);
}

/* ---- an expert of one weight, which is 1: y = act(x) ---- */
static void check_odd_values(const char *op, int act, uint32_t isa, const char *level) {
  enum { N = OX_COUNT(test_edges) };
  static const float one = 1, router[N];
  one_node n;
  one_node_init(&n, "com.microsoft", op, 1, 1);
  n.isa = isa;
  one_node_str(&n, "activation_type", act_names[act]);
  one_node_input(&n, OX_F32, 2, (int64_t[]){N, 1}, test_edges);
  one_node_input(&n, OX_F32, 2, (int64_t[]){N, 1}, router);
  for (int i = 0; i < 2; i++) {
    one_node_const(&n, OX_F32, 3, (int64_t[]){1, 1, 1}, &one);
    omit(&n);
  }
  CHECK_OK(one_node_run(&n));
  for (int i = 0; i < N; i++) {
    float x = test_edges[i], got = ((const float *)n.out[0].data)[i];
    float want = isnan(x) ? x : (float)act_of(act, (double)x);
    if (isinf(x) && act == SILU) want = x / (1 + expf(-x)); /* as a sum of floats, so NaN for -inf */
    if (isnan(want)   ? !isnan(got)
        : isinf(want) ? got != want
                      : !(fabs((double)got - want) <= 1e-6 * fabs(want) + 1e-25))
      fail_msg("%s, %s(%g) is %g, wanted %g", level, act_names[act], (double)x, (double)got, (double)want);
  }
  one_node_deinit(&n);
}

static void test_odd_values(void **state) {
  (void)state;
  static const int acts[] = {RELU, GELU, SILU, IDENTITY};
  for (size_t l = 0; level_next(&l); l++)
    for (size_t i = 0; i < OX_COUNT(acts); i++)
      check_odd_values("MoE", acts[i], test_levels[l].have, test_levels[l].name);
}

/* ---- models that are not right ---- */
static void test_what_does_not_fit(void **state) {
  (void)state;
  static const struct {
    moe_case t;
    ox_code code;
    const char *text;
  } wrong[] = {
      {{0, 0, 3, 2, 3, 8, 8, RELU, 0, SPREAD, 0, OX_F32}, OX_SHAPE_MISMATCH, "k 3"},
      {{4, 32, 3, 2, 1, 40, 64, RELU, 0, SPREAD, 0, OX_F32}, OX_INVALID_MODEL, "40 columns in blocks of 32"},
      {{3, 0, 3, 2, 1, 8, 8, RELU, 0, SPREAD, 0, OX_F32}, OX_INVALID_MODEL, "3-bit"},
      {{0, 0, 3, 2, 1, 8, 8, SWIGLU, 0, SPREAD, 0, OX_F32}, OX_INVALID_MODEL, "swiglu needs"},
  };
  for (size_t i = 0; i < OX_COUNT(wrong); i++) {
    moe_case t = wrong[i].t, made = t;
    problem p;
    one_node n;
    if (t.bits) made.block = 0;
    made.top = 1;
    make(&p, &made);
    p.t = &t;
    build(&n, &p, one_node_const);
    CHECK_FAILS(one_node_run(&n), wrong[i].code, wrong[i].text);
    one_node_deinit(&n);
    release(&p);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_experts),
      cmocka_unit_test(test_odd_values),
      cmocka_unit_test(test_what_does_not_fit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
