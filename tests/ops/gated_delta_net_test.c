/* SPDX-License-Identifier: Apache-2.0
 * ops/gated_delta_net_test.c - GatedDeltaNet against the recurrence in doubles, in every spelling of its inputs. */
#include <string.h>

#include "support/typed.h"

enum { BATCH = 3, TOKENS = 12, LEN = 4, HQ = 2, HV = 4, DK = 5, DV = 3, CAPACITY = 3 };
enum { ROW = CAPACITY * (HV + HQ * DK + HV * DV) };
static const int32_t ragged[BATCH + 1] = {0, 1, 1, 12}, even[BATCH + 1] = {0, 4, 8, 12}, captures[BATCH] = {7, 2, 2};

typedef struct model {
  const char *rule;
  bool packed, apart, ragged, by_key, qwen, sigmoid, l2, capture, beta, state;
  const ox_tensor *q, *k, *v, *decay, *b, *s, *a_log, *dt;
} model;

static bool gated(const model *m) { return strncmp(m->rule, "gated", 5) == 0; }

/* A row per token; |width| 0: |heads| numbers. */
static const ox_tensor *tokens(one_node *n, const model *m, uint32_t dtype, int64_t heads, int64_t width,
                               double scale) {
  int64_t dims[4] = {BATCH, LEN, heads, width}, flat[3] = {TOKENS, heads, width};
  return typed_input(n, dtype, (m->apart ? 3 : 2) + (width > 0), m->apart ? dims : flat, scale);
}

static const ox_tensor *maybe(one_node *n, bool given, const ox_tensor *t) {
  if (!given) one_node_input(n, OX_F32, -1, NULL, NULL);
  return given ? t : NULL;
}

static void inputs(one_node *n, model *m, uint32_t dtype) {
  const int64_t state[] = {BATCH, HV, DV, DK};
  if (m->packed) {
    m->q = tokens(n, m, dtype, 2 * HQ * DK + HV * DV, 0, 1);
    for (int i = 0; i < 2; i++) one_node_input(n, dtype, -1, NULL, NULL);
  } else {
    m->q = tokens(n, m, dtype, HQ, DK, 1), m->k = tokens(n, m, dtype, HQ, DK, 0.6);
    m->v = tokens(n, m, dtype, HV, DV, 1);
  }
  one_node_input(n, OX_I32, m->ragged ? 1 : -1, (int64_t[]){BATCH + 1}, m->ragged ? ragged : NULL);
  m->decay = gated(m) ? tokens(n, m, OX_F32, HV, m->by_key ? DK : 0, 0.5) : maybe(n, false, NULL);
  m->b = m->beta ? tokens(n, m, OX_F32, HV, 0, 0.5) : maybe(n, false, NULL);
  m->s = m->state ? typed_input(n, OX_F32, 4, state, 1) : maybe(n, false, NULL);
  m->a_log = m->qwen ? typed_input(n, OX_F32, 1, state + 1, 1) : maybe(n, false, NULL);
  m->dt = m->qwen ? typed_input(n, OX_F32, 1, state + 1, 1) : maybe(n, false, NULL);
  if (m->capture) one_node_input(n, OX_I32, 1, state, captures);
}

static void load(const model *m, int64_t t, int64_t h, double *q, double *k, double *v) {
  int64_t hk = h / (HV / HQ), row = t * (2 * HQ * DK + HV * DV);
  double nq = 1e-6, nk = 1e-6;
  for (int64_t i = 0; i < DK; i++) {
    q[i] = typed_at(m->q, m->packed ? row + hk * DK + i : (t * HQ + hk) * DK + i);
    k[i] = m->packed ? typed_at(m->q, row + (HQ + hk) * DK + i) : typed_at(m->k, (t * HQ + hk) * DK + i);
    nq += q[i] * q[i], nk += k[i] * k[i];
  }
  for (int64_t i = 0; i < DK && m->l2; i++) q[i] /= sqrt(nq), k[i] /= sqrt(nk);
  for (int64_t j = 0; j < DV; j++)
    v[j] = m->packed ? typed_at(m->q, row + 2 * HQ * DK + h * DV + j) : typed_at(m->v, (t * HV + h) * DV + j);
}

static double decay_of(const model *m, int64_t t, int64_t h, int64_t i) {
  if (!gated(m)) return 1;
  double g = typed_at(m->decay, (t * HV + h) * (m->by_key ? DK : 1) + (m->by_key ? i : 0));
  return exp(m->qwen ? -exp(typed_at(m->a_log, h)) * log1p(exp(g + typed_at(m->dt, h))) : g);
}

static void check_update(const one_node *n, int64_t b, int64_t h, int64_t at, const double *want[3]) {
  const ox_tensor *u = &n->out[2];
  int64_t keys = b * ROW + CAPACITY * HV, deltas = keys + CAPACITY * HQ * DK;
  typed_near(u, b * ROW + at * HV + h, *want[0], 3);
  for (int64_t i = 0; i < DK && h % (HV / HQ) == 0; i++)
    typed_near(u, keys + (at * HQ + h / (HV / HQ)) * DK + i, want[1][i], 3);
  for (int64_t j = 0; j < DV; j++) typed_near(u, deltas + (at * HV + h) * DV + j, want[2][j], 10);
}

static void check_head(const one_node *n, const model *m, int64_t b, int64_t h) {
  const int32_t *ends = m->ragged ? ragged : even;
  double s[DV][DK], q[DK], k[DK], v[DV], delta[DV], d = 0;
  for (int64_t i = 0; i < DV * DK; i++) s[i / DK][i % DK] = m->s ? typed_at(m->s, (b * HV + h) * DV * DK + i) : 0;
  for (int64_t t = ends[b]; t < ends[b + 1]; t++) {
    double beta = m->b ? typed_at(m->b, t * HV + h) : 1;
    if (m->sigmoid) beta = 1 / (1 + exp(-beta));
    load(m, t, h, q, k, v);
    for (int64_t j = 0; j < DV; j++) {
      double known = 0, y = 0;
      for (int64_t i = 0; i < DK; i++) s[j][i] *= d = decay_of(m, t, h, i);
      for (int64_t i = 0; i < DK; i++) known += strstr(m->rule, "delta") ? s[j][i] * k[i] : 0;
      delta[j] = beta * (v[j] - known);
      for (int64_t i = 0; i < DK; i++) s[j][i] += delta[j] * k[i], y += s[j][i] * q[i] / sqrt(DK);
      typed_near(&n->out[0], (t * HV + h) * DV + j, y, 10);
    }
    int64_t at = t - ends[b];
    if (m->capture && at < CAPACITY && at < captures[b]) check_update(n, b, h, at, (const double *[]){&d, k, delta});
  }
  for (int64_t i = 0; i < DV * DK; i++) typed_near(&n->out[1], (b * HV + h) * DV * DK + i, s[i / DK][i % DK], 10);
}

static void check(model m, uint32_t dtype) {
  one_node n;
  one_node_init(&n, "com.microsoft", "GatedDeltaNet", 1, m.capture ? 3 : 2);
  one_node_str(&n, "update_rule", m.rule), one_node_int(&n, "qk_l2_norm", m.l2);
  one_node_str(&n, "gate_activation", m.qwen ? "qwen" : "none");
  one_node_str(&n, "beta_activation", m.sigmoid ? "sigmoid" : "none");
  one_node_int(&n, "state_update_capacity", m.capture ? CAPACITY : 0);
  inputs(&n, &m, dtype);
  n.run_tiles = 1;
  CHECK_OK(one_node_run(&n));
  assert_int_equal(n.out[0].shape.rank, m.apart ? 4 : 3);
  for (int64_t i = 0; i < BATCH * HV; i++) check_head(&n, &m, i / HV, i % HV);
  one_node_deinit(&n);
}

static void test_every_spelling(void **state) {
  (void)state;
  static const char *const rules[] = {"linear", "gated", "delta", "gated_delta"};
  for (int r = 0; r < 4; r++)
    for (int bits = 0; bits < 64; bits++) {
      model m = {.rule = rules[r], .packed = bits & 1, .l2 = bits & 4, .capture = bits & 8, .beta = bits & 16};
      m.apart = bits & 2 && !(bits & 32), m.ragged = bits & 32;
      m.state = m.packed || !m.ragged || bits & 2;
      m.by_key = gated(&m) && !m.capture && bits & 16, m.qwen = gated(&m) && bits & 4, m.sigmoid = m.beta && bits & 1;
      check(m, OX_F32);
      if (bits % 7 == 0) check(m, OX_F16);
    }
}

static void fails(const char *attr, const char *v, bool state, const char *text) {
  one_node n;
  one_node_init(&n, "com.microsoft", "GatedDeltaNet", 1, 2);
  model m = {.rule = "delta", .state = state};
  one_node_str(&n, "update_rule", "delta");
  if (attr) one_node_str(&n, attr, v);
  inputs(&n, &m, OX_F32);
  CHECK_FAILS_WITH(one_node_run(&n), text);
  one_node_deinit(&n);
}

static void test_wrong_models(void **state) {
  (void)state;
  fails(NULL, NULL, false, "initial_state is required");
  fails("gate_activation", "qwen", true, "a_log");
  fails("beta_activation", "tanh", true, "tanh");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_spelling),
      cmocka_unit_test(test_wrong_models),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
