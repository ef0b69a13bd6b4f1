/* SPDX-License-Identifier: Apache-2.0
 * kern/variants.h - one constant per instruction set (functions, tile sizes), and what picks the best of them. They are
 * called <stem><suffix>; the instruction sets and their order stand here only. */
#ifndef OX_KERN_VARIANTS_H
#define OX_KERN_VARIANTS_H

#include <stddef.h>

#include "base/cpu.h"
#include "base/macros.h"

#if OX_BUILD_AVX512
#define OX_EACH_AVX512_(row, ...) row(OX_AVX512, avx512, __VA_ARGS__)
#else
#define OX_EACH_AVX512_(row, ...)
#endif
#if OX_BUILD_VNNI
#define OX_EACH_VNNI_(row, ...) row(OX_VNNI, avx512vnni, __VA_ARGS__)
#else
#define OX_EACH_VNNI_(row, ...)
#endif
#if OX_BUILD_AVXVNNI
#define OX_EACH_AVXVNNI_(row, ...) row(OX_AVXVNNI, avxvnni, __VA_ARGS__)
#else
#define OX_EACH_AVXVNNI_(row, ...)
#endif
#if OX_BUILD_AVX2
#define OX_EACH_AVX2_(row, ...) row(OX_AVX2, avx2, __VA_ARGS__)
#else
#define OX_EACH_AVX2_(row, ...)
#endif
#if OX_BUILD_NEON
#define OX_EACH_NEON_(row, ...) row(OX_NEON, neon, __VA_ARGS__)
#else
#define OX_EACH_NEON_(row, ...)
#endif

/* row(needs, suffix, ...) for every instruction set of this build, best first. */
#define OX_EACH_ISA(row, ...)       \
  OX_EACH_AVX512_(row, __VA_ARGS__) \
  OX_EACH_AVX2_(row, __VA_ARGS__) OX_EACH_NEON_(row, __VA_ARGS__) row(0, scalar, __VA_ARGS__)
/* The same where there are dot products of bytes, too. */
#define OX_EACH_ISA_I8(row, ...)  \
  OX_EACH_VNNI_(row, __VA_ARGS__) \
  OX_EACH_AVXVNNI_(row, __VA_ARGS__) OX_EACH_ISA(row, __VA_ARGS__)

#define OX_VARIANT_EXTERN_(needs, suffix, type, stem) extern const type stem##suffix;
#define OX_VARIANT_RETURN_(needs, suffix, type, stem) \
  if (((needs) & ~have) == 0) return &stem##suffix;
#define OX_VARIANT_REF_(needs, suffix, type, stem) &stem##suffix,

/* const type *select(ox_isa have): the first of |each|, OX_EACH_ISA or OX_EACH_ISA_I8, that |have| can run; the last
 * one needs nothing. */
#define OX_VARIANTS_SELECT_OF(each, type, stem, select)                  \
  each(OX_VARIANT_EXTERN_, type, stem) const type *select(ox_isa have) { \
    each(OX_VARIANT_RETURN_, type, stem) return NULL;                    \
  }
#define OX_VARIANTS_SELECT(type, stem, select) OX_VARIANTS_SELECT_OF(OX_EACH_ISA, type, stem, select)

/* const type *const *list(size_t *out_n): all of them, for tests; behind the selection. */
#define OX_VARIANTS_LIST_OF(each, type, stem, list)                       \
  const type *const *list(size_t *out_n) {                                \
    static const type *const all[] = {each(OX_VARIANT_REF_, type, stem)}; \
    *out_n = OX_COUNT(all);                                               \
    return all;                                                           \
  }
#define OX_VARIANTS_LIST(type, stem, list) OX_VARIANTS_LIST_OF(OX_EACH_ISA, type, stem, list)

#endif
