/* SPDX-License-Identifier: Apache-2.0
 * kern/simd/sums.h - the inner loop of a product of four to six rows by two vectors: acc[i][j] += A[i][k] B[k][j].
 * With AVX2 the sums fill twelve of sixteen registers. Compilers then let results take turns in registers and move or
 * spill sums in the end: 24 to 30 instructions for 12 FMAs. Here sums have registers of their own, and a step is one
 * piece of assembler of 18, beside the loads of B. Include a simd/f32_<isa>.h first.
 *
 *   OX_SUMS_OPEN(acc, m)                     acc is vf32[m][2]; m, a constant, is 4, 5 or 6
 *   OX_SUMS_STEP(acc, m, a, a1, rs, k, b)    element (i, k) of A is k floats after row i; b is vf32[2]
 *   OX_SUMS_CLOSE(acc, m)
 *
 * The first (m + 1) / 2 rows begin at |a|, the others at |a1|, |rs| bytes (ptrdiff_t) from row to row; k is a literal.
 * Between OPEN and CLOSE only steps use the sums, and A is not written. OX_FOUR(X) is X(0) X(1) X(2) X(3), and so on. */
#ifndef OX_SIMD_SUMS_H
#define OX_SIMD_SUMS_H

#define OX_FOUR(X) X(0) X(1) X(2) X(3)
#define OX_SEVEN(X) OX_FOUR(X) X(4) X(5) X(6)
#define OX_SIXTEEN(X) OX_SEVEN(X) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15)

/* Sanitizers do not see what assembler reads. */
#if defined(__has_feature)
#define SUMS_ASAN_ __has_feature(address_sanitizer)
#elif defined(__SANITIZE_ADDRESS__)
#define SUMS_ASAN_ 1
#else
#define SUMS_ASAN_ 0
#endif

#if defined(__GNUC__) && defined(__OPTIMIZE__) && defined(__x86_64__) && defined(OX_SIMD_F32_AVX2_H) && !SUMS_ASAN_

/* The barrier orders earlier stores before what the assembler reads. */
#define OX_SUMS_OPEN(acc, m)                                                               \
  const vf32 sums_none_ = vf32_zero();                                                     \
  register vf32 sums0_ __asm__("ymm4") = acc[0][0], sums1_ __asm__("ymm5") = acc[0][1];    \
  register vf32 sums2_ __asm__("ymm6") = acc[1][0], sums3_ __asm__("ymm7") = acc[1][1];    \
  register vf32 sums4_ __asm__("ymm8") = acc[2][0], sums5_ __asm__("ymm9") = acc[2][1];    \
  register vf32 sums6_ __asm__("ymm10") = acc[3][0], sums7_ __asm__("ymm11") = acc[3][1];  \
  register vf32 sums8_ __asm__("ymm12") = (m) > 4 ? acc[(m) > 4 ? 4 : 0][0] : sums_none_;  \
  register vf32 sums9_ __asm__("ymm13") = (m) > 4 ? acc[(m) > 4 ? 4 : 0][1] : sums_none_;  \
  register vf32 sums10_ __asm__("ymm14") = (m) > 5 ? acc[(m) > 5 ? 5 : 0][0] : sums_none_; \
  register vf32 sums11_ __asm__("ymm15") = (m) > 5 ? acc[(m) > 5 ? 5 : 0][1] : sums_none_; \
  __asm__ volatile("" : "+x"(sums0_) : : "memory")

#define OX_SUMS_CLOSE(acc, m)                                                       \
  do {                                                                              \
    acc[0][0] = sums0_, acc[0][1] = sums1_, acc[1][0] = sums2_, acc[1][1] = sums3_; \
    acc[2][0] = sums4_, acc[2][1] = sums5_, acc[3][0] = sums6_, acc[3][1] = sums7_; \
    if ((m) > 4) acc[4][0] = sums8_, acc[4][1] = sums9_;                            \
    if ((m) > 5) acc[5][0] = sums10_, acc[5][1] = sums11_;                          \
  } while (0)

/* Two broadcasts, then their four products: in turn through ymm2 and ymm3. */
#define SUMS_SPLAT_(at, to) "vbroadcastss %c[u]*4(" at "), %%ymm" to "\n\t"
#define SUMS_ROW_(from, c, d) "vfmadd231ps %[b0], %%ymm" from ", " c "\n\tvfmadd231ps %[b1], %%ymm" from ", " d "\n\t"
#define SUMS_2_ROWS_(at, at1, c, d, e, f) \
  SUMS_SPLAT_(at, "2") SUMS_SPLAT_(at1, "3") SUMS_ROW_("2", c, d) SUMS_ROW_("3", e, f)
#define SUMS_IN_(a, a1, rs, k, b) \
  [p0] "r"(a), [p1] "r"(a1), [row] "r"(rs), [u] "i"(k), [b0] "x"((b)[0]), [b1] "x"((b)[1])
#define SUMS_8_ \
  "+x"(sums0_), "+x"(sums1_), "+x"(sums2_), "+x"(sums3_), "+x"(sums4_), "+x"(sums5_), "+x"(sums6_), "+x"(sums7_)

#define OX_SUMS_STEP(acc, m, a, a1, rs, k, b)                                                                      \
  do {                                                                                                             \
    if ((m) == 6)                                                                                                  \
      __asm__(SUMS_2_ROWS_("%[p0]", "%[p0],%[row]", "%0", "%1", "%2", "%3")                                        \
                  SUMS_2_ROWS_("%[p0],%[row],2", "%[p1]", "%4", "%5", "%6", "%7")                                  \
                      SUMS_2_ROWS_("%[p1],%[row]", "%[p1],%[row],2", "%8", "%9", "%10", "%11")                     \
              : SUMS_8_, "+x"(sums8_), "+x"(sums9_), "+x"(sums10_), "+x"(sums11_)                                  \
              : SUMS_IN_(a, a1, rs, k, b)                                                                          \
              : "ymm2", "ymm3");                                                                                   \
    else if ((m) == 5)                                                                                             \
      __asm__(SUMS_2_ROWS_("%[p0]", "%[p0],%[row]", "%0", "%1", "%2", "%3")                                        \
                  SUMS_2_ROWS_("%[p0],%[row],2", "%[p1]", "%4", "%5", "%6", "%7") SUMS_SPLAT_("%[p1],%[row]", "2") \
                      SUMS_ROW_("2", "%8", "%9")                                                                   \
              : SUMS_8_, "+x"(sums8_), "+x"(sums9_)                                                                \
              : SUMS_IN_(a, a1, rs, k, b)                                                                          \
              : "ymm2", "ymm3");                                                                                   \
    else                                                                                                           \
      __asm__(SUMS_2_ROWS_("%[p0]", "%[p0],%[row]", "%0", "%1", "%2", "%3")                                        \
                  SUMS_2_ROWS_("%[p1]", "%[p1],%[row]", "%4", "%5", "%6", "%7")                                    \
              : SUMS_8_                                                                                            \
              : SUMS_IN_(a, a1, rs, k, b)                                                                          \
              : "ymm2", "ymm3");                                                                                   \
  } while (0)

#else

#define OX_SUMS_OPEN(acc, m) ((void)(acc))
#define OX_SUMS_CLOSE(acc, m) ((void)(acc))
#define OX_SUMS_STEP(acc, m, a, a1, rs, k, b)                                                                   \
  do {                                                                                                          \
    OX_UNROLL for (int i_ = 0; i_ < (m); i_++) {                                                                \
      const int first_ = ((m) + 1) / 2, at_ = i_ < first_ ? i_ : i_ - first_;                                   \
      const vf32 ai_ = vf32_splat(((const float *)((const char *)(i_ < first_ ? (a) : (a1)) + at_ * (rs)))[k]); \
      acc[i_][0] = vf32_fma(ai_, (b)[0], acc[i_][0]), acc[i_][1] = vf32_fma(ai_, (b)[1], acc[i_][1]);           \
    }                                                                                                           \
  } while (0)

#endif
#endif
