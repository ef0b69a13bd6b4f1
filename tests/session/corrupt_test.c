/* SPDX-License-Identifier: Apache-2.0
 * session/corrupt_test.c - any bytes given as a model end in a result or a clear error, and leave nothing behind. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/counting_alloc.h"
#include "support/text_session.h"

static uint64_t state_of(uint64_t *s) { /* SplitMix64 */
  uint64_t z = *s += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

enum { MOST = 8 };

/* Loads the bytes and, if that works, runs the model once on zeros of modest size. */
static void try_bytes(const unsigned char *bytes, size_t n, const char *what) {
  counting_alloc count = {.fail_at = -1};
  ox_env_opts eo = {.struct_size = sizeof eo, .alloc = counting_alloc_of(&count)};
  ox_session_opts so;
  ox_env *env;
  ox_session *s = NULL;
  ox_value *in[MOST] = {0}, *out[MOST] = {0};
  const char *names[MOST];
  ox_session_opts_init(&so);
  so.n_threads = 1, so.max_workspace = (size_t)1 << 28;
  CHECK_OK(ox_env_create(&eo, &env));
  ox_status *st = ox_session_create(env, bytes, n, &so, &s);
  size_t n_in = st ? 0 : ox_session_input_count(s), n_out = st ? 0 : ox_session_output_count(s);
  bool feasible = !st && n_in <= MOST && n_out <= MOST;
  for (size_t i = 0; feasible && i < n_in; i++) {
    ox_value_info info;
    int64_t dims[OX_MAX_RANK], total = 1;
    CHECK_OK(ox_session_input(s, i, &info));
    for (int d = 0; d < info.rank; d++) dims[d] = info.dims[d] < 0 ? 2 : info.dims[d];
    for (int d = 0; d < info.rank && total < 1 << 20; d++) total *= dims[d];
    feasible = info.kind == OX_TENSOR && info.rank >= 0 && total < 1 << 20 && info.dtype != OX_STRING;
    names[i] = info.name;
    if (feasible) st = ox_value_create(env, info.dtype, dims, (size_t)info.rank, &in[i]);
    feasible &= st == NULL;
  }
  if (feasible) {
    ox_run_opts ro = {.struct_size = sizeof ro, .timeout_ms = 2000};
    st = ox_session_run(s, &ro, names, (const ox_value *const *)in, n_in, NULL, out, n_out);
  }
  if (st && !ox_status_message(st)[0]) fail_msg("%s: an error without a text", what);
  ox_status_free(st);
  for (size_t i = 0; i < MOST; i++) ox_value_release(in[i]), ox_value_release(out[i]);
  ox_session_release(s);
  ox_env_release(env);
  if (atomic_load(&count.live)) fail_msg("%s: %ld blocks leaked", what, atomic_load(&count.live));
}

static const char *const texts[] = {
    "<ir_version: 8, opset_import: [\"\" : 17]> g (float[N,3,8,8] x) => (float[N,4] y)"
    " <float[4,3,3,3] w = "
    "{1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,"
    "7,8,9,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9}"
    ">"
    "{ c = Conv <pads = [1,1,1,1]> (x, w) r = Relu (c) p = MaxPool <kernel_shape = [2,2], strides = [2,2]> (r)"
    " q = GlobalAveragePool (p) y = Flatten (q) }",
    "<ir_version: 8, opset_import: [\"\" : 17]> g (float[4] x) => (float[4] y) <int64 m = {5}, bool go = {1}> {"
    " y = Loop <body = b (int64 i, bool c, float[4] v) => (bool c2, float[4] w) { c2 = Identity (c) w = Add (v, x) }> "
    "(m, go, x) }",
    "<ir_version: 8, opset_import: [\"\" : 17]> g (float[2,6] x) => (float[A] y) <int64[1] s = {0}, int64[1] e = {5}, "
    "int64[1] a = {1}, int64[1] k = {-1}>"
    "{ z = Slice (x, s, e, a) r = Reshape (z, k) i = Shape (r) f = Cast <to = 1> (i) t = Mul (r, f) y = Softmax (t) }",
};

static void test_bit_flips(void **state) {
  (void)state;
  for (size_t t = 0; t < OX_COUNT(texts); t++) {
    size_t n;
    unsigned char *bytes = text_model_bytes(texts[t], &n), *copy = malloc(n);
    uint64_t seed = 99 + t;
    assert_non_null(copy);
    for (int round = 0; round < 600; round++) {
      memcpy(copy, bytes, n);
      int flips = 1 + round % 4;
      for (int k = 0; k < flips; k++) {
        uint64_t r = state_of(&seed);
        copy[r % n] ^= (unsigned char)(1u << (r >> 40 & 7));
      }
      char what[64];
      snprintf(what, sizeof what, "model %zu, round %d", t, round);
      try_bytes(copy, n, what);
    }
    free(copy);
    free(bytes);
  }
}

static void test_truncation_at_every_byte(void **state) {
  (void)state;
  for (size_t t = 0; t < OX_COUNT(texts); t++) {
    size_t n;
    unsigned char *bytes = text_model_bytes(texts[t], &n);
    for (size_t k = 0; k < n; k++) {
      unsigned char *copy = malloc(k + 1); /* a block of its own, so that reading past the end shows */
      char what[64];
      assert_non_null(copy);
      memcpy(copy, bytes, k);
      snprintf(what, sizeof what, "model %zu cut at %zu", t, k);
      try_bytes(copy, k, what);
      free(copy);
    }
    free(bytes);
  }
}

static const struct {
  const char *name, *text;
} absurd[] = {
    {"a constant of 2^50 elements",
     "<ir_version: 8, opset_import: [\"\" : 17]> g () => (float[A,B] y) <int64[2] s = {33554432, 33554432}> { y = "
     "ConstantOfShape (s) }"},
    {"a product of dimensions that overflows",
     "<ir_version: 8, opset_import: [\"\" : 17]> g () => (float[A,B,C] y) <int64[3] s = {9223372036854775807, "
     "9223372036854775807, 4}> { y = ConstantOfShape (s) }"},
    {"a negative size",
     "<ir_version: 8, opset_import: [\"\" : 17]> g () => (float[A] y) <int64[1] s = {-5}> { y = ConstantOfShape (s) }"},
    {"a tile beyond memory",
     "<ir_version: 8, opset_import: [\"\" : 17]> g (float[2,2] x) => (float[A,B] y) <int64[2] r = {1099511627776, "
     "1099511627776}> { y = Tile (x, r) }"},
    {"pads beyond memory",
     "<ir_version: 8, opset_import: [\"\" : 17]> g (float[2,2] x) => (float[A,B] y) <int64[4] p = "
     "{4611686018427387904, 0, 4611686018427387904, 0}> { y = Pad (x, p) }"},
    {"a range without end",
     "<ir_version: 8, opset_import: [\"\" : 17]> g () => (float[A] y) <float a = {0}, float b = {1e30}, float c = "
     "{1e-30}> { y = Range (a, b, c) }"},
};

static void test_absurd_sizes(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(absurd); i++) {
    size_t n;
    unsigned char *bytes = text_model_bytes(absurd[i].text, &n);
    ox_env *env;
    ox_session *s = NULL;
    ox_value *out = NULL, *x = NULL;
    const int64_t dims[] = {2, 2};
    const char *name = "x";
    ox_session_opts so;
    ox_session_opts_init(&so);
    CHECK_OK(ox_env_create(NULL, &env));
    CHECK_OK(ox_value_create(env, OX_F32, dims, 2, &x));
    ox_status *st = ox_session_create(env, bytes, n, &so, &s);
    if (!st) st = ox_session_run(s, NULL, &name, (const ox_value *const *)&x, ox_session_input_count(s), NULL, &out, 1);
    if (!st) fail_msg("%s: no error", absurd[i].name);
    ox_status_free(st);
    ox_value_release(x);
    ox_session_release(s);
    ox_env_release(env);
    free(bytes);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_bit_flips), cmocka_unit_test(test_truncation_at_every_byte),
                                     cmocka_unit_test(test_absurd_sizes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
