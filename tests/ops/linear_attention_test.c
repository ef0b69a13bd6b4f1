/* SPDX-License-Identifier: Apache-2.0
 * ops/linear_attention_test.c - all update rules against the recurrence in doubles, on every instruction set; a
 * sequence in two halves with the state between them. */
#include <math.h>
#include <string.h>

#include "support/check.h"
#include "support/one_node.h"

enum { B = 2, T = 7, HQ = 4, HK = 2, DK = 5, DV = 70 };
static float q[B * T * HQ * DK], k[B * T * HK * DK], v[B * T * HK * DV], decay[B * T * HK], beta[B * T * HK];

static void fill(float *p, size_t n, float scale) {
  for (size_t i = 0; i < n; i++) p[i] = (float)((int)(i * 7919 % 211) - 105) / 105 * scale;
}

static void fill_all(void) {
  fill(q, OX_COUNT(q), 1), fill(k, OX_COUNT(k), 0.6f), fill(v, OX_COUNT(v), 1), fill(decay, OX_COUNT(decay), 0.5f);
  fill(beta, OX_COUNT(beta), 0.4f);
}

static void naive(const char *rule, int64_t b, int64_t h, int64_t t, double state[DK][DV]) {
  bool gated = !strncmp(rule, "gated", 5), delta = strstr(rule, "delta") != NULL;
  int64_t row = (b * T + t) * HK + h;
  for (int j = 0; j < DV; j++) {
    double known = 0;
    for (int i = 0; i < DK; i++) {
      if (gated) state[i][j] *= exp(decay[row]);
      known += state[i][j] * k[row * DK + i];
    }
    double u = delta ? beta[row] * (v[row * DV + j] - known) : v[row * DV + j];
    for (int i = 0; i < DK; i++) state[i][j] += k[row * DK + i] * u;
  }
}

static void check(const one_node *n, const char *rule) {
  for (int64_t b = 0; b < B; b++)
    for (int64_t h = 0; h < HK; h++) {
      double state[DK][DV] = {{0}};
      for (int64_t t = 0; t < T; t++) {
        naive(rule, b, h, t, state);
        for (int64_t g = h * HQ / HK; g < (h + 1) * HQ / HK; g++)
          for (int j = 0; j < DV; j++) {
            double want = 0, got = ((float *)n->out[0].data)[((b * T + t) * HQ + g) * DV + j];
            for (int i = 0; i < DK; i++) want += q[((b * T + t) * HQ + g) * DK + i] / sqrt(DK) * state[i][j];
            if (!(fabs(got - want) < 1e-5)) fail_msg("%s, token %d: got %g, wanted %g", rule, (int)t, got, want);
          }
      }
      for (int i = 0; i < DK * DV; i++)
        assert_true(fabs(((float *)n->out[1].data)[(b * HK + h) * DK * DV + i] - state[i / DV][i % DV]) < 1e-5);
    }
}

static void test_rules_on_every_isa(void **state) {
  (void)state;
  static const char *const rules[] = {"linear", "gated", "delta", "gated_delta"};
  const uint32_t isas[] = {0, ox_isa_cap(ox_isa_host(), "avx2"), ox_isa_host()};
  fill_all();
  for (size_t r = 0; r < OX_COUNT(rules); r++)
    for (size_t i = 0; i < OX_COUNT(isas); i++) {
      one_node n;
      one_node_init(&n, "", "LinearAttention", 27, 2);
      n.isa = isas[i], n.run_tiles = 1;
      one_node_str(&n, "update_rule", rules[r]);
      one_node_int(&n, "q_num_heads", HQ);
      one_node_int(&n, "kv_num_heads", HK);
      one_node_input(&n, OX_F32, 3, (int64_t[]){B, T, HQ * DK}, q);
      one_node_input(&n, OX_F32, 3, (int64_t[]){B, T, HK * DK}, k);
      one_node_input(&n, OX_F32, 3, (int64_t[]){B, T, HK * DV}, v);
      one_node_input(&n, OX_F32, -1, NULL, NULL);
      one_node_input(&n, OX_F32, r % 2 ? 3 : -1, (int64_t[]){B, T, HK}, decay);
      one_node_input(&n, OX_F32, r >= 2 ? 3 : -1, (int64_t[]){B, T, HK}, beta);
      CHECK_OK(one_node_run(&n));
      check(&n, rules[r]);
      one_node_deinit(&n);
    }
}

static void test_missing_gates_are_refused(void **state) {
  (void)state;
  one_node n;
  one_node_init(&n, "", "LinearAttention", 27, 2);
  one_node_int(&n, "q_num_heads", HQ);
  one_node_int(&n, "kv_num_heads", HK);
  one_node_input(&n, OX_F32, 3, (int64_t[]){B, T, HQ * DK}, q);
  one_node_input(&n, OX_F32, 3, (int64_t[]){B, T, HK * DK}, k);
  one_node_input(&n, OX_F32, 3, (int64_t[]){B, T, HK * DV}, v);
  CHECK_FAILS(one_node_run(&n), OX_INVALID_MODEL, "needs decay and needs beta");
  one_node_deinit(&n);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rules_on_every_isa),
      cmocka_unit_test(test_missing_gates_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
