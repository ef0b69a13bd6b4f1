/* SPDX-License-Identifier: Apache-2.0
 * session/compressed_weights_test.c - weights that panels hold in fewer bits: which form a model's products take, and
 * that results have the same bits, whether few rows or many came first. Weights of large models that are 16-bit floats
 * in the file, which a first run of many rows reads there. */
#include <stdlib.h>
#include <string.h>

#include "kern/gemm/split_product.h"
#include "kern/quant/convert.h"
#include "onyx/onyx.h"
#include "session/session.h"
#include "support/check.h"
#include "support/kernel_room.h"
#include "support/added_values.h"

enum { K = 1024, N = 8704 /* 34 MiB of weights */, MANY = 96 };

static const struct {
  const char *text;
  int64_t w_dims[2];
} models[] = {
    {"<ir_version: 3, opset_import: [\"\" : 17]> g (float[m, 1024] x, float[1024, 8704] w) => (float[m, 8704] y) "
     "{ y = MatMul (x, w) }",
     {K, N}},
    {"<ir_version: 3, opset_import: [\"\" : 17]> g (float[m, 1024] x, float[8704, 1024] w) => (float[m, 8704] y) "
     "{ y = Gemm <transB = 1> (x, w) }",
     {N, K}},
};

static void add_w(ox_wire_out *o, void *dims) { add_missing(o, "w", OX_F32, 2, dims); }

/* Random floats of which |kept| bits stay. */
static ox_value *weights(ox_env *env, const int64_t *dims, uint32_t kept) {
  ox_value *v;
  CHECK_OK(ox_value_create(env, OX_F32, dims, 2, &v));
  char *data = ox_value_data(v);
  for (size_t i = 0; i < (size_t)K * N; i++) {
    float f = rnd();
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    bits &= kept;
    memcpy(data + i * sizeof bits, &bits, sizeof bits);
  }
  return v;
}

static ox_session *open_with(ox_env *env, const byte_buf *b, const ox_value *w) {
  ox_session_opts o;
  ox_session *s;
  ox_session_opts_init(&o);
  o.initializer_names = (const char *[]){"w"}, o.initializers = &w, o.n_initializers = 1;
  CHECK_OK(ox_session_create(env, b->p, b->n, &o, &s));
  return s;
}

/* The product of |m| rows. */
static ox_value *run(ox_env *env, ox_session *s, int64_t m) {
  ox_value *x = ramp_value(env, -1, 1.0f / 1024, 2, (int64_t[]){m, K}), *y = NULL;
  CHECK_OK(ox_session_run(s, NULL, (const char *const[]){"x"}, (const ox_value *const *)&x, 1, NULL, &y, 1));
  ox_value_release(x);
  return y;
}

static const char *form_of(ox_env *env, ox_session *s, int64_t m) {
  ox_node_time t;
  size_t n = 0;
  ox_session_profile_start(s);
  ox_value_release(run(env, s, m));
  ox_session_profile_stop(s);
  while (ox_session_profile_event(s, n, &t)) n++;
  return ox_session_profile_form(s, n - 1);
}

/* One row, some and many, first one of each: the bits of a session that only ever saw so many. */
static void check_orders(ox_env *env, const byte_buf *b, const ox_value *w) {
  static const int64_t rows[] = {1, MANY, MANY, 20, 20, 1, 20, MANY};
  for (size_t first = 0; first < 4; first++) {
    ox_session *s = open_with(env, b, w);
    for (size_t i = first; i < OX_COUNT(rows); i++) {
      ox_session *alone = open_with(env, b, w);
      ox_value *got = run(env, s, rows[i]), *want = run(env, alone, rows[i]);
      assert_memory_equal(ox_value_data(got), ox_value_data(want), (size_t)(rows[i] * N) * sizeof(float));
      ox_value_release(got), ox_value_release(want), ox_session_release(alone);
    }
    ox_session_release(s);
  }
}

/* |rows| first, then one: the form of one. */
static void check_form(ox_env *env, const byte_buf *b, const ox_value *w, int64_t rows, const char *want) {
  ox_session *s = open_with(env, b, w);
  ox_value_release(run(env, s, rows));
  const char *form = form_of(env, s, 1);
  if (strncmp(form, want, strlen(want)) != 0) fail_msg("form '%s' after %d rows, wanted '%s'", form, (int)rows, want);
  ox_session_release(s);
}

static void test_forms_and_bits(void **state) {
  static const struct {
    uint32_t kept;
    const char *form; /* how that of one row begins */
  } cases[] = {{0xffff0000, "held as bfloat16"}, {0xffffe000, "held as float16"}, {0xffffffff, "packed"}};
  (void)state;
  ox_env *env;
  CHECK_OK(ox_env_create(NULL, &env));
  const bool has_kernels = (ox_isa_host() & (OX_AVX2 | OX_AVX512)) != 0;
  for (size_t i = 0; i < OX_COUNT(cases) * OX_COUNT(models); i++) {
    const size_t m = i / OX_COUNT(cases);
    const bool by_unit = ox_split_select(ox_isa_host()) != NULL; /* which does not read transposed weights in place */
    const char *want = has_kernels && !(m && by_unit) ? cases[i % OX_COUNT(cases)].form : "packed";
    int64_t dims[] = {models[m].w_dims[0], models[m].w_dims[1]};
    byte_buf b = bytes_with_values(models[m].text, add_w, dims);
    ox_value *w = weights(env, dims, cases[i % OX_COUNT(cases)].kept);
    check_form(env, &b, w, 1, want), check_form(env, &b, w, 20, want);
    check_orders(env, &b, w);
    ox_value_release(w);
    byte_buf_free(&b);
  }
  ox_env_release(env);
}

/* ---- float16 ---- */

static void add_half_w(ox_wire_out *o, void *dims) { add_missing(o, "w", OX_F16, 2, dims); }

enum { HALF_N = 2 * N /* 34 MiB of weights */, STEP = 997 /* columns that are checked */ };

/* Random floats of 1/2 to 1 and both signs. */
static ox_value *halves(ox_env *env, int64_t rows, int64_t cols) {
  ox_value *v;
  CHECK_OK(ox_value_create(env, OX_F16, (int64_t[]){rows, cols}, 2, &v));
  uint16_t *data = ox_value_data(v);
  for (int64_t i = 0; i < rows * cols; i++) {
    float f = rnd();
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    data[i] = (uint16_t)(0x3800 | (bits >> 9 & 0x3ff) | (bits >> 8 & 1) << 15);
  }
  return v;
}

static double half_at(const ox_value *v, int64_t i) {
  double x;
  ox_convert_select(0)->load_f64[OX_F16](ox_value_data((ox_value *)v), (size_t)i, 1, &x);
  return x;
}

static void check_halves(const ox_value *x, const ox_value *w, const ox_value *y, int64_t rows, bool trans) {
  for (int64_t r = 0; r < rows; r++)
    for (int64_t j = r % STEP; j < HALF_N; j += STEP) {
      double want = 0, got = half_at(y, r * HALF_N + j);
      for (int64_t k = 0; k < K; k++) want += half_at(x, r * K + k) * half_at(w, trans ? j * K + k : k * HALF_N + j);
      if (!(fabs(got - want) <= 0.02 + 1e-3 * fabs(want)))
        fail_msg("row %d of %d, column %d: %g, wanted %g", (int)r, (int)rows, (int)j, got, want);
    }
}

static void test_weights_in_float16(void **state) {
  static const char *const texts[] = {
      "<ir_version: 3, opset_import: [\"\" : 17]> g (float16[m, 1024] x, float16[1024, 17408] w) => "
      "(float16[m, 17408] y) { y = MatMul (x, w) }",
      "<ir_version: 3, opset_import: [\"\" : 17]> g (float16[m, 1024] x, float16[17408, 1024] w) => "
      "(float16[m, 17408] y) { y = Gemm <transB = 1> (x, w) }"};
  static const int64_t rows[] = {MANY, MANY, 1, 20};
  (void)state;
  ox_env *env;
  CHECK_OK(ox_env_create(NULL, &env));
  for (int trans = 0; trans < 2; trans++) {
    int64_t dims[] = {trans ? HALF_N : K, trans ? K : HALF_N};
    byte_buf b = bytes_with_values(texts[trans], add_half_w, dims);
    ox_value *w = halves(env, dims[0], dims[1]);
    ox_session *s = open_with(env, &b, w);
    for (size_t i = 0; i < OX_COUNT(rows); i++) {
      ox_value *x = halves(env, rows[i], K), *y = NULL;
      CHECK_OK(ox_session_run(s, NULL, (const char *const[]){"x"}, (const ox_value *const *)&x, 1, NULL, &y, 1));
      check_halves(x, w, y, rows[i], trans);
      ox_value_release(x), ox_value_release(y);
    }
    ox_session_release(s), ox_value_release(w);
    byte_buf_free(&b);
  }
  ox_env_release(env);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_forms_and_bits), cmocka_unit_test(test_weights_in_float16)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
