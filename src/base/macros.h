/* SPDX-License-Identifier: Apache-2.0
 * base/macros.h - the few macros every layer uses. */
#ifndef OX_BASE_MACROS_H
#define OX_BASE_MACROS_H

#include <stddef.h>
#include <stdint.h>

#define OX_COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define OX_MIN(a, b) ((a) < (b) ? (a) : (b))
#define OX_MAX(a, b) ((a) > (b) ? (a) : (b))
#define OX_CEIL_DIV(a, b) (((a) + (b)-1) / (b))
#define OX_ROUND_UP(a, b) (OX_CEIL_DIV(a, b) * (b))
/* Joins two tokens; makes a string of one. Macros in them are expanded first. */
#define OX_PASTE_(a, b) a##b
#define OX_PASTE(a, b) OX_PASTE_(a, b)
#define OX_QUOTE_(x) #x
#define OX_QUOTE(x) OX_QUOTE_(x)

/* The number of readable bytes after the end of every buffer, so that kernels may load whole vectors. */
#define OX_PAD_BYTES 64
/* Alignment of every buffer that the run time hands to a kernel: one AVX-512 register, one cache line. */
#define OX_ALIGN_BYTES 64

#if defined(__GNUC__)
#define OX_LIKELY(x) __builtin_expect(!!(x), 1)
#define OX_UNLIKELY(x) __builtin_expect(!!(x), 0)
#if defined(_WIN32) && !defined(__clang__)
#define OX_PRINTF(fmt, first) __attribute__((format(gnu_printf, fmt, first))) /* %zu; "printf" is the old runtime's */
#else
#define OX_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))
#endif
#define OX_INLINE static inline __attribute__((always_inline))
#define OX_NOINLINE __attribute__((noinline))
/* Prefetches the cache line at |p| to L1, or to L2; any address is allowed. */
#define OX_PREFETCH(p) __builtin_prefetch(p)
#define OX_PREFETCH_L2(p) __builtin_prefetch((p), 0, 2)
/* On x86 __builtin_prefetch(p, 1) fetches a line for reading only, unless the compiler may assume PREFETCHW. CPUs
 * without that instruction treat it as a no-op. */
#if defined(__x86_64__)
#define OX_PREFETCH_WRITE(p) __asm__ volatile("prefetchw %0" : : "m"(*(const char *)(p)))
#else
#define OX_PREFETCH_WRITE(p) __builtin_prefetch((p), 1)
#endif
#else
#define OX_LIKELY(x) (x)
#define OX_UNLIKELY(x) (x)
#define OX_PRINTF(fmt, first)
#define OX_INLINE static inline
#define OX_NOINLINE
#define OX_PREFETCH(p) ((void)(p))
#define OX_PREFETCH_L2(p) ((void)(p))
#define OX_PREFETCH_WRITE(p) ((void)(p))
#endif

/* Elements at any address, since weights in a mapped file may be misaligned. */
typedef float __attribute__((aligned(1), may_alias)) ox_f32u;
typedef double __attribute__((aligned(1), may_alias)) ox_f64u;
typedef uint16_t __attribute__((aligned(1), may_alias)) ox_u16u;
typedef int16_t __attribute__((aligned(1), may_alias)) ox_i16u;
typedef uint32_t __attribute__((aligned(1), may_alias)) ox_u32u;
typedef int32_t __attribute__((aligned(1), may_alias)) ox_i32u;
typedef int64_t __attribute__((aligned(1), may_alias)) ox_i64u;

/* OX_UNROLL unrolls a loop fully. OX_IVDEP says that iterations are independent: pointers may be equal, but must not
 * overlap in any other way. */
#if defined(__clang__)
#define OX_UNROLL _Pragma("clang loop unroll(full)")
#define OX_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define OX_UNROLL _Pragma("GCC unroll 64")
#define OX_IVDEP _Pragma("GCC ivdep")
#else
#define OX_UNROLL
#define OX_IVDEP
#endif

#endif
