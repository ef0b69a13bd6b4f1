/* SPDX-License-Identifier: Apache-2.0
 * kern/binary_test.c - arithmetic of two operands: integer corners that are undefined in C, NaN rules, standing
 * operands, all instruction sets alike; choice; broadcasting against index arithmetic. */
#include <stdbool.h>

#include "kern/binary/binary.h"
#include "kern/binary/broadcast.h"
#include "support/check.h"
#include "support/levels.h"

static void test_integer_corners(void **state) {
  (void)state;
  const int32_t a[] = {INT32_MIN, 7, -7, 7, INT32_MAX, -8, 5}, b[] = {-1, 0, 3, -3, 1, 2, 5};
  const int32_t quotient[] = {INT32_MIN, 0, -2, -2, INT32_MAX, -4, 1}, modulo[] = {0, 0, 2, -2, 0, 0, 0};
  const int32_t rest[] = {0, 0, -1, 1, 0, 0, 0}, sum[] = {INT32_MAX, 7, -4, 4, INT32_MIN, -6, 10};
  int32_t y[7];
  for (size_t l = 0; level_next(&l); l++) {
    const ox_binary_table *t = ox_binary_select(test_levels[l].have);
    t->fn[OX_BIN_DIV][OX_I32](a, b, y, 7, 0);
    assert_memory_equal(y, quotient, sizeof y);
    t->fn[OX_BIN_MOD][OX_I32](a, b, y, 7, 0);
    assert_memory_equal(y, modulo, sizeof y);
    t->fn[OX_BIN_FMOD][OX_I32](a, b, y, 7, 0);
    assert_memory_equal(y, rest, sizeof y);
    t->fn[OX_BIN_ADD][OX_I32](a, b, y, 7, 0);
    assert_memory_equal(y, sum, sizeof y);
    const uint16_t u[] = {65535, 40000}, v[] = {65535, 40000};
    uint16_t p[2];
    t->fn[OX_BIN_MUL][OX_U16](u, v, p, 2, 0);
    assert_int_equal(p[0], 1);
    assert_int_equal(p[1], (uint16_t)(40000u * 40000u));
    const int8_t x[] = {-128, 1, -1, 64}, s[] = {7, 8, 100, 1}, right[] = {-1, 0, -1, 32}, left[] = {0, 0, 0, -128};
    int8_t z[4];
    t->fn[OX_BIN_SHR][OX_I8](x, s, z, 4, 0);
    assert_memory_equal(z, right, sizeof z);
    t->fn[OX_BIN_SHL][OX_I8](x, s, z, 4, 0);
    assert_memory_equal(z, left, sizeof z);
  }
}

/* Against C, where C defines them, at random and at the ends of the ranges. */
static void test_quotients_of_32_bits(void **state) {
  (void)state;
  enum { N = 5000 };
  static const uint32_t ends[] = {0, 1, 2, 3, 0x7ffffffe, 0x7fffffff, 0x80000000, 0x80000001, 0xfffffffe, 0xffffffff};
  static uint32_t a[N], b[N], y[N];
  uint32_t seed = 3;
  for (size_t i = 0; i < N; i++) {
    size_t e = OX_COUNT(ends);
    a[i] = i < e * e ? ends[i / e] : test_random(&seed) << test_random(&seed) % 3;
    b[i] = i < e * e ? ends[i % e] : test_random(&seed) >> test_random(&seed) % 32;
    if (i % 5 == 4) a[i] -= a[i] % (b[i] ? b[i] : 1) + (i & 1); /* at a whole quotient, and just below */
  }
  for (size_t l = 0; level_next(&l); l++) {
    const ox_binary_table *t = ox_binary_select(test_levels[l].have);
    t->fn[OX_BIN_DIV][OX_U32](a, b, y, N, 0);
    for (size_t i = 0; i < N; i++) assert_int_equal(y[i], b[i] ? a[i] / b[i] : 0);
    t->fn[OX_BIN_MOD][OX_U32](a, b, y, N, 0);
    for (size_t i = 0; i < N; i++) assert_int_equal(y[i], b[i] ? a[i] % b[i] : 0);
    for (int f = 0; f < 3; f++) {
      static const ox_binary fns[] = {OX_BIN_DIV, OX_BIN_FMOD, OX_BIN_MOD};
      t->fn[fns[f]][OX_I32](a, b, y, N, 0);
      for (size_t i = 0; i < N; i++) {
        int64_t p = (int32_t)a[i], q = (int32_t)b[i], r = q ? p % q : 0;
        int64_t want = f == 0 ? (q ? p / q : 0) : f == 1 ? r : r + (r && (r < 0) != (q < 0) ? q : 0);
        if (y[i] != (uint32_t)want) fail_msg("%s, function %d: %d and %d", test_levels[l].name, f, (int)p, (int)q);
      }
    }
  }
}

static void test_float_rests(void **state) {
  (void)state;
  enum { N = 4000 };
  static const float ends[] = {0,        -0.0f, 1,    -1,   3,    0.1f,     1e-42f,    1e-30f,
                               16777216, 3e38f, 0.5f, 0.3f, 7e9f, INFINITY, -INFINITY, NAN};
  static float a[N], b[N], y[N];
  uint32_t seed = 9;
  for (size_t i = 0; i < N; i++) {
    size_t e = OX_COUNT(ends);
    a[i] = i < e * e ? ends[i / e] : test_uniform(&seed, -1, 1) * ldexpf(1, (int)(test_random(&seed) % 60) - 20);
    b[i] = i < e * e ? ends[i % e] : test_uniform(&seed, -1, 1) * ldexpf(1, (int)(test_random(&seed) % 40) - 20);
    if (i >= e * e && i % 4 == 3) a[i] = b[i] * (float)(test_random(&seed) % 1000); /* close to a whole quotient */
  }
  for (size_t l = 0; level_next(&l); l++) {
    ox_binary_select(test_levels[l].have)->fn[OX_BIN_FMOD][OX_F32](a, b, y, N, 0);
    for (size_t i = 0; i < N; i++) {
      double want = fmod((double)a[i], (double)b[i]);
      if (!((double)y[i] == want && !signbit(y[i]) == !signbit(want)) && !(isnan(y[i]) && isnan(want)))
        fail_msg("%s: %a and %a: %a, wanted %a", test_levels[l].name, (double)a[i], (double)b[i], (double)y[i], want);
    }
  }
}

static void test_float_corners(void **state) {
  (void)state;
  const float a[] = {NAN, 1, 2, -INFINITY}, b[] = {1, NAN, 3, INFINITY};
  float y[4];
  for (size_t l = 0; level_next(&l); l++) {
    const ox_binary_table *t = ox_binary_select(test_levels[l].have);
    t->fn[OX_BIN_MAX][OX_F32](a, b, y, 4, 0);
    assert_true(isnan(y[0]) && isnan(y[1]) && y[2] == 3 && y[3] == INFINITY);
    t->fn[OX_BIN_MIN][OX_F32](a, b, y, 4, 0);
    assert_true(isnan(y[0]) && isnan(y[1]) && y[2] == 2 && y[3] == -INFINITY);
    for (unsigned scalar = OX_BIN_A_SCALAR; scalar <= OX_BIN_B_SCALAR; scalar++)
      for (int k = 0; k < 2; k++) { /* a number and then NaN stand; NaN of the others comes through */
        bool first = scalar == OX_BIN_A_SCALAR;
        t->fn[OX_BIN_MIN][OX_F32](first ? &b[k] : a, first ? a : &b[k], y, 4, scalar);
        assert_true(isnan(y[0]) && (k ? isnan(y[1]) && isnan(y[3]) : y[1] == 1 && y[2] == 1 && y[3] == -INFINITY));
        t->fn[OX_BIN_MAX][OX_F32](first ? &b[k] : a, first ? a : &b[k], y, 4, scalar);
        assert_true(isnan(y[0]) && (k ? isnan(y[1]) && isnan(y[3]) : y[1] == 1 && y[2] == 2 && y[3] == 1));
      }
    const float base[] = {-INFINITY, -0.0f, 4, -1}, half = 0.5f, two = 2;
    t->fn[OX_BIN_POW][OX_F32](base, &half, y, 4, OX_BIN_B_SCALAR);
    assert_true(y[0] == INFINITY && y[1] == 0 && !signbit(y[1]) && y[2] == 2 && isnan(y[3]));
    t->fn[OX_BIN_POW][OX_F32](base, &two, y, 4, OX_BIN_B_SCALAR);
    assert_true(y[0] == INFINITY && y[2] == 16 && y[3] == 1);
    const double c[] = {5.5, -5.5, 5, 0}, d[] = {-2, 2, INFINITY, -3};
    double m[4];
    t->fn[OX_BIN_MOD][OX_F64](c, d, m, 4, 0);
    assert_true(m[0] == -0.5 && m[1] == 0.5 && m[2] == 5 && m[3] == 0 && signbit(m[3]));
  }
}

/* Standing operands and results in place, for every function of every type. */
static void test_scalars_and_in_place(void **state) {
  (void)state;
  enum { N = 45 };
  for (size_t l = 0; level_next(&l); l++) {
    const ox_binary_table *t = ox_binary_select(test_levels[l].have), *plain = ox_binary_select(0);
    for (int f = 0; f < OX_BIN_COUNT; f++)
      for (int d = 0; d < OX_DTYPE_COUNT; d++) {
        if (!t->fn[f][d]) continue;
        bool floats = d == OX_F32 || d == OX_F64;
        for (unsigned scalar = 0; scalar < 3; scalar++) {
          uint64_t a[N], b[N], x[N], y[N];
          uint32_t seed = (uint32_t)(f * 31 + d);
          for (size_t i = 0; i < N; i++) {
            a[i] = (uint64_t)test_random(&seed) << 32 | test_random(&seed);
            b[i] = (uint64_t)test_random(&seed) << 32 | test_random(&seed);
            if (floats) { /* finite numbers whatever the width */
              a[i] = (a[i] & UINT64_C(0x3fefffff3fefffff)) | UINT64_C(0x3fe000003fe00000);
              b[i] = (b[i] & UINT64_C(0x3fefffff3fefffff)) | UINT64_C(0x3fe000003fe00000);
            }
          }
          memset(x, 0, sizeof x), memset(y, 0, sizeof y);
          plain->fn[f][d](a, b, x, N, scalar);
          t->fn[f][d](a, b, y, N, scalar);
          if (memcmp(x, y, sizeof x) != 0)
            fail_msg("function %d of type %d at %s, scalar %u, differs", f, d, test_levels[l].name, scalar);
          if (f >= OX_BIN_EQ || scalar == OX_BIN_A_SCALAR) continue;
          t->fn[f][d](a, b, a, N, scalar);
          size_t bytes = N * (d == OX_F64 || d == OX_I64 || d == OX_U64  ? 8u
                              : d == OX_U8 || d == OX_I8 || d == OX_BOOL ? 1u
                              : d == OX_U16 || d == OX_I16               ? 2u
                                                                         : 4u);
          if (memcmp(a, y, bytes) != 0)
            fail_msg("function %d of type %d at %s differs in place", f, d, test_levels[l].name);
        }
      }
  }
}

static void test_choice(void **state) {
  (void)state;
  enum { N = 37 };
  for (size_t l = 0; level_next(&l); l++)
    for (size_t size = 1; size <= 16; size *= 2)
      for (int steps = 0; steps < 8; steps++) {
        uint8_t c[N], a[N * 16], b[N * 16], y[N * 16];
        uint32_t seed = (uint32_t)steps;
        for (size_t i = 0; i < sizeof a; i++) a[i] = (uint8_t)(test_random(&seed) >> 9), b[i] = (uint8_t)(a[i] + 1);
        for (size_t i = 0; i < N; i++) c[i] = test_random(&seed) >> 31 ? 1 : 0;
        size_t sc = steps & 1, sa = steps >> 1 & 1, sb = steps >> 2 & 1;
        ox_choose(ox_binary_select(test_levels[l].have), c, a, b, y, size, N, (int)sc, (int)sa, (int)sb);
        for (size_t i = 0; i < N; i++)
          assert_memory_equal(y + i * size, c[i * sc] ? a + i * sa * size : b + i * sb * size, size);
      }
}

/* ---- broadcasting ---- */
static const struct {
  int rank_a, rank_b;
  int64_t a[4], b[4];
} shapes[] = {
    {0, 0, {0}, {0}},
    {2, 2, {3, 5}, {3, 5}},
    {2, 1, {3, 5}, {5}},
    {2, 2, {3, 5}, {3, 1}},
    {3, 2, {2, 3, 4}, {3, 1}},
    {1, 3, {4}, {2, 3, 1}},
    {4, 4, {2, 1, 3, 1}, {1, 5, 1, 7}},
    {3, 0, {2, 3, 4}, {0}},
    {4, 3, {2, 3, 4, 5}, {1, 4, 5}},
    {2, 2, {0, 4}, {1, 4}},
    {2, 2, {5, 1}, {1, 16}},
    {2, 2, {1, 17}, {5, 1}},
    {3, 3, {3, 1, 5}, {1, 4, 5}},
    {3, 3, {2, 7, 1}, {2, 1, 9}},
    {4, 4, {2, 3, 1, 6}, {1, 3, 4, 1}},
};

static int64_t source(const ox_shape *s, const ox_shape *out, int64_t i) {
  int64_t off = 0, step = 1;
  for (int d = out->rank - 1, k = s->rank - 1; d >= 0; d--, k--) {
    int64_t at = i % out->dim[d];
    i /= out->dim[d];
    if (k < 0) continue;
    off += s->dim[k] == 1 ? 0 : at * step, step *= s->dim[k];
  }
  return off;
}

/* Operand |k| for outputs [begin, end), elements of all sizes; what follows them stays. */
static void check_gather(const ox_bcast *bc, int k, const ox_shape *s, const ox_shape *out, int64_t begin,
                         int64_t end) {
  enum { N = 400 };
  static union {
    uint64_t aligned;
    uint8_t bytes[N * 16];
  } from, got;
  for (size_t i = 0; i < sizeof from.bytes; i++) from.bytes[i] = (uint8_t)(i * 31 + i / 251);
  for (size_t size = 1; size <= 16; size *= 2) {
    memset(&got, 0xa5, sizeof got);
    ox_bcast_gather(bc, k, from.bytes, size, begin, end - begin, got.bytes);
    for (int64_t i = begin; i < end; i++)
      assert_memory_equal(got.bytes + (size_t)(i - begin) * size, from.bytes + (size_t)source(s, out, i) * size, size);
    assert_int_equal(got.bytes[(size_t)(end - begin) * size], 0xa5);
  }
}

static void test_broadcast_runs_and_gathers(void **state) {
  (void)state;
  for (size_t t = 0; t < OX_COUNT(shapes); t++) {
    ox_shape a = {.rank = shapes[t].rank_a}, b = {.rank = shapes[t].rank_b}, out;
    memcpy(a.dim, shapes[t].a, sizeof shapes[t].a), memcpy(b.dim, shapes[t].b, sizeof shapes[t].b);
    out.rank = a.rank > b.rank ? a.rank : b.rank;
    for (int d = 0; d < out.rank; d++) {
      int ka = d - (out.rank - a.rank), kb = d - (out.rank - b.rank);
      int64_t da = ka < 0 ? 1 : a.dim[ka], db = kb < 0 ? 1 : b.dim[kb];
      out.dim[d] = da == 1 ? db : da;
    }
    ox_bcast bc;
    ox_bcast_init(&bc, &out, 2, (const ox_shape *[]){&a, &b});
    for (int64_t begin = 0; begin <= bc.count; begin += 3) {
      int64_t end = begin + 11 < bc.count ? begin + 11 : bc.count, at = begin;
      ox_bcast_run r;
      for (bool ok = ox_bcast_first(&bc, begin, end, &r); ok; ok = ox_bcast_next(&bc, &r))
        for (int64_t i = 0; i < r.n; i++, at++) {
          assert_int_equal(r.at + i, at);
          assert_int_equal(r.off[0] + i * r.step[0], source(&a, &out, at));
          assert_int_equal(r.off[1] + i * r.step[1], source(&b, &out, at));
        }
      assert_int_equal(at, begin < end ? end : begin);
      if (begin >= end) continue;
      for (int k = 0; k < 2; k++) {
        check_gather(&bc, k, k ? &b : &a, &out, begin, end);
        check_gather(&bc, k, k ? &b : &a, &out, begin, bc.count);
      }
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_integer_corners),
      cmocka_unit_test(test_quotients_of_32_bits),
      cmocka_unit_test(test_float_rests),
      cmocka_unit_test(test_float_corners),
      cmocka_unit_test(test_scalars_and_in_place),
      cmocka_unit_test(test_choice),
      cmocka_unit_test(test_broadcast_runs_and_gathers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
