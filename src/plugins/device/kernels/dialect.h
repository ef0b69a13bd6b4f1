/* SPDX-License-Identifier: Apache-2.0
 * device/kernels/dialect.h - the language of the kernels: one source is OpenCL C, CUDA C and plain C.
 *
 *   typedef struct { int n; float scale; } scale_params;     only int, unsigned and float: the same layout everywhere
 *   KERNEL(scale, scale_params) {
 *     BUFFER(const REAL, x, 0); BUFFER(REAL, y, 1); PARAMS(scale_params, p);
 *     FOR_ITEMS(t, 256) {
 *       int i = GROUP(0) * 256 + t;
 *       if (i < p.n) STORE(y, i, LOAD(x, i) * p.scale);
 *     }
 *   }
 *
 * A source is built twice, with REAL as float and as 16-bit float; its kernels are called scale_f32 and scale_f16.
 * Arithmetic is in float: LOAD and STORE convert. All FOR_ITEMS of a kernel have the same number of items, which is the
 * size of a group.
 * - BARRIER makes all items of the group wait for each other; it may stand only between two FOR_ITEMS.
 * - LOCAL(type, name, [dims]) is shared by the group; declared at the top of a kernel.
 * - PRIVATE(type, name, items, [dims]) belongs to an item and persists from one FOR_ITEMS to the next, where it is
 *   MINE(name, t). What is declared inside a FOR_ITEMS lives until its end.
 * - No return or break out of a FOR_ITEMS, no barrier in one. Helper functions are FUNCTION; pointers to buffers in
 *   their arguments are GLOBAL, to the group's memory LOCAL_POINTER. A FUNCTION may be one item's part of a FOR_ITEMS,
 *   which gets t and MINE(name, t); or a phase of the whole group with FOR_ITEMS and BARRIER of its own, which gets
 *   a PRIVATE as OF_ITEMS(type, name, [dims]). All items of a group call such a phase.
 * - float4 has x, y, z, w and no arithmetic: MAKE4(x, y, z, w); LOAD4(p, i) and STORE4(p, i, v) move elements i to i + 3,
 *   whose address is a multiple of four elements.
 * - int4 likewise; DOT4(a, b, sum): sum + the products of the four signed bytes of two ints. MULF: a product that is
 *   rounded before it is added to anything.
 * - GROUP(0..2), GROUPS(0..2): int. Indices are int: no tensor of more than 2^31 - 1 elements comes here. */
#if defined(__OPENCL_VERSION__) /* ------------------------------------------------ OpenCL C */
#pragma OPENCL FP_CONTRACT ON
#define GLOBAL __global
#define LOCAL_POINTER __local
#define FUNCTION static inline
#define KERNEL(name, params)                                                                                     \
  __kernel void DEV_NAME(name)(__global char *b0_, ulong o0_, __global char *b1_, ulong o1_, __global char *b2_, \
                               ulong o2_, __global char *b3_, ulong o3_, __global char *b4_, ulong o4_,         \
                               __global char *b5_, ulong o5_, __global char *b6_, ulong o6_, __global char *b7_, \
                               ulong o7_, params p_)
#define BUFFER(type, name, i) __global type *name = (__global type *)(b##i##_ + o##i##_)
#define PARAMS(type, name) const type name = p_
#define GROUP(axis) ((int)get_group_id(axis))
#define GROUPS(axis) ((int)get_num_groups(axis))
#define FOR_ITEMS(t, n) for (int t = (int)get_local_id(0), t##_ = 1; t##_; t##_ = 0)
#define BARRIER barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define LOCAL(type, name, dims) __local type name dims
#define PRIVATE(type, name, n, dims) type name dims
#define OF_ITEMS(type, name, dims) type name dims
#define MINE(name, t) name
#define UNROLL _Pragma("unroll")
#define UNROLL4 _Pragma("unroll 4")
#define BITS_OF(f) as_int(f)
#define FLOAT_OF(i) as_float(i)
typedef long dev_long;
typedef ulong dev_ulong;
#define ISNAN(x) isnan(x)
#define HALF_TO_FLOAT(p, i) vload_half(i, (const __global half *)(p))
#define FLOAT_TO_HALF(p, i, v) vstore_half_rte(v, i, (__global half *)(p))
#define MAKE4(x, y, z, w) ((float4)(x, y, z, w))
#define FLOAT4_AT(p, i) (*(const __global float4 *)((p) + (i)))
#define FLOAT4_TO(p, i, v) (*(__global float4 *)((p) + (i)) = (v))
#define HALF4_TO_FLOAT4(p, i) vload_half4(0, (const __global half *)((p) + (i)))
#define FLOAT4_TO_HALF4(p, i, v) vstore_half4_rte(v, 0, (__global half *)((p) + (i)))
#define MAKE_INT4(x, y, z, w) ((int4)(x, y, z, w))
FUNCTION float dev_mul(float a, float b) {
#pragma OPENCL FP_CONTRACT OFF
  return a * b;
}
#define MULF(a, b) dev_mul(a, b)
#define DOT4(a, b, sum) dev_dot4(a, b, sum)

#elif defined(__CUDACC_RTC__) || defined(__CUDACC__) /* --------------------------- CUDA C */
#define GLOBAL
#define LOCAL_POINTER
#define FUNCTION static __device__ __forceinline__
/* At most 256 items in a group, and few enough registers for two groups per multiprocessor. */
#define KERNEL(name, params)                                                                                    \
  extern "C" __global__ void __launch_bounds__(256, 2)                                                          \
      DEV_NAME(name)(char *b0_, char *b1_, char *b2_, char *b3_, char *b4_, char *b5_, char *b6_, char *b7_,    \
                     const params p_)
#define BUFFER(type, name, i) type *__restrict__ name = (type *)b##i##_
#define PARAMS(type, name) const type &name = p_
#define GROUP(axis) ((int)DEV_PASTE(DEV_GROUP_, axis))
#define DEV_GROUP_0 blockIdx.x
#define DEV_GROUP_1 blockIdx.y
#define DEV_GROUP_2 blockIdx.z
#define GROUPS(axis) ((int)DEV_PASTE(DEV_GROUPS_, axis))
#define DEV_GROUPS_0 gridDim.x
#define DEV_GROUPS_1 gridDim.y
#define DEV_GROUPS_2 gridDim.z
#define FOR_ITEMS(t, n) for (int t = (int)threadIdx.x, t##_ = 1; t##_; t##_ = 0)
#define BARRIER __syncthreads()
#define LOCAL(type, name, dims) __shared__ type name dims
#define PRIVATE(type, name, n, dims) type name dims
#define OF_ITEMS(type, name, dims) type name dims
#define MINE(name, t) name
#define UNROLL _Pragma("unroll")
#define UNROLL4 _Pragma("unroll 4")
#define BITS_OF(f) __float_as_int(f)
#define FLOAT_OF(i) __int_as_float(i)
typedef long long dev_long;
typedef unsigned long long dev_ulong;
#define ISNAN(x) ((x) != (x))
#define INFINITY __int_as_float(0x7f800000)
FUNCTION float dev_from_half(unsigned short h) {
  float f;
  asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
  return f;
}
FUNCTION unsigned short dev_to_half(float f) {
  unsigned short h;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
  return h;
}
#define HALF_TO_FLOAT(p, i) dev_from_half((p)[i])
#define FLOAT_TO_HALF(p, i, v) ((p)[i] = dev_to_half(v))
FUNCTION float4 dev_from_half4(const unsigned short *p) {
  ushort4 h = *(const ushort4 *)p;
  return make_float4(dev_from_half(h.x), dev_from_half(h.y), dev_from_half(h.z), dev_from_half(h.w));
}
FUNCTION void dev_to_half4(unsigned short *p, float4 v) {
  *(ushort4 *)p = make_ushort4(dev_to_half(v.x), dev_to_half(v.y), dev_to_half(v.z), dev_to_half(v.w));
}
#define MAKE4(x, y, z, w) make_float4(x, y, z, w)
#define FLOAT4_AT(p, i) (*(const float4 *)((p) + (i)))
#define FLOAT4_TO(p, i, v) (*(float4 *)((p) + (i)) = (v))
#define HALF4_TO_FLOAT4(p, i) dev_from_half4((p) + (i))
#define FLOAT4_TO_HALF4(p, i, v) dev_to_half4((p) + (i), v)
#define MAKE_INT4(x, y, z, w) make_int4(x, y, z, w)
#define MULF(a, b) __fmul_rn(a, b)
#define DOT4(a, b, sum) __dp4a(a, b, sum)

#else /* --------------------------------------------------------------------------- plain C */
#include <math.h>
#include <stdint.h>
#include <string.h>
#define GLOBAL
#define LOCAL_POINTER
#define FUNCTION static inline
/* Runs one group. |b_|: buffers; |p_|: parameters; |g_|: the group's index, then the number of groups, per dimension.
 * name_bytes_f32 is the size of the parameters. */
#define KERNEL(name, params)                                           \
  extern const unsigned DEV_BYTES_NAME(name);                          \
  const unsigned DEV_BYTES_NAME(name) = sizeof(params);                \
  void DEV_NAME(name)(char *const *b_, const void *p_, const int *g_); \
  void DEV_NAME(name)(char *const *b_, const void *p_, const int *g_)
#define BUFFER(type, name, i) type *const name = (type *)b_[i]
#define PARAMS(type, name) \
  type name;               \
  memcpy(&name, p_, sizeof name)
#define GROUP(axis) (g_[axis])
#define GROUPS(axis) (g_[3 + (axis)])
#define FOR_ITEMS(t, n) for (int t = 0; t < (n); t++)
#define BARRIER ((void)0)
#define LOCAL(type, name, dims) type name dims
#define PRIVATE(type, name, n, dims) type name[n] dims
#define OF_ITEMS(type, name, dims) type(*name) dims
#define MINE(name, t) name[t]
#define UNROLL
#define UNROLL4
static inline int dev_bits_of(float f) {
  int i;
  memcpy(&i, &f, sizeof i);
  return i;
}
static inline float dev_float_of(int i) {
  float f;
  memcpy(&f, &i, sizeof f);
  return f;
}
#define BITS_OF(f) dev_bits_of(f)
#define FLOAT_OF(i) dev_float_of(i)
typedef int64_t dev_long;
typedef uint64_t dev_ulong;
#define ISNAN(x) isnan(x)
float dev_from_half(unsigned short h);
unsigned short dev_to_half(float f);
#define HALF_TO_FLOAT(p, i) dev_from_half((p)[i])
#define FLOAT_TO_HALF(p, i, v) ((p)[i] = dev_to_half(v))
typedef struct float4 {
  float x, y, z, w;
} float4;
#define MAKE4(x, y, z, w) ((float4){x, y, z, w})
#define FLOAT4_AT(p, i) MAKE4((p)[i], (p)[(i) + 1], (p)[(i) + 2], (p)[(i) + 3])
#define FLOAT4_TO(p, i, v) memcpy((p) + (i), &(v), sizeof(float4))
#define HALF4_TO_FLOAT4(p, i) \
  MAKE4(LOAD(p, i), LOAD(p, (i) + 1), LOAD(p, (i) + 2), LOAD(p, (i) + 3))
#define FLOAT4_TO_HALF4(p, i, v) \
  (STORE(p, i, (v).x), STORE(p, (i) + 1, (v).y), STORE(p, (i) + 2, (v).z), STORE(p, (i) + 3, (v).w))
typedef struct int4 {
  int x, y, z, w;
} int4;
#define MAKE_INT4(x, y, z, w) ((int4){x, y, z, w})
#define MULF(a, b) ((a) * (b))
#define DOT4(a, b, sum) dev_dot4(a, b, sum)
#endif
#ifndef __CUDACC_RTC__
FUNCTION int dev_dot4(int a, int b, int sum) {
  sum += (signed char)a * (signed char)b + (signed char)(a >> 8) * (signed char)(b >> 8);
  return sum + (signed char)(a >> 16) * (signed char)(b >> 16) + (a >> 24) * (b >> 24);
}
#endif

/* Math functions on floats; OpenCL C has no suffix for them. */
#if defined(__OPENCL_VERSION__)
#define DEV_MATH(name) name
#else
#define DEV_MATH(name) name##f
#endif
#define EXPF DEV_MATH(exp)
#define EXP2F DEV_MATH(exp2)
#define LOGF DEV_MATH(log)
#define POWF DEV_MATH(pow)
#define TANHF DEV_MATH(tanh)
#define SQRTF DEV_MATH(sqrt)
#define ERFF DEV_MATH(erf)
#define FMAF DEV_MATH(fma)
#define FABSF DEV_MATH(fabs)
#define FLOORF DEV_MATH(floor)
#define CEILF DEV_MATH(ceil)
#define RINTF DEV_MATH(rint)
#define SINF DEV_MATH(sin)
#define COSF DEV_MATH(cos)
#define FMODF DEV_MATH(fmod)
#define TANF DEV_MATH(tan)
#define ASINF DEV_MATH(asin)
#define ACOSF DEV_MATH(acos)
#define ATANF DEV_MATH(atan)
#define SINHF DEV_MATH(sinh)
#define COSHF DEV_MATH(cosh)
#define ASINHF DEV_MATH(asinh)
#define ACOSHF DEV_MATH(acosh)
#define ATANHF DEV_MATH(atanh)

#define DEV_PASTE(a, b) a##b
#if DEV_F16
#define REAL unsigned short
#define LOAD(p, i) HALF_TO_FLOAT(p, i)
#define STORE(p, i, v) FLOAT_TO_HALF(p, i, v)
#define LOAD4(p, i) HALF4_TO_FLOAT4(p, i)
#define STORE4(p, i, v) FLOAT4_TO_HALF4(p, i, v)
#define DEV_NAME(name) DEV_PASTE(name, _f16)
#define DEV_BYTES_NAME(name) DEV_PASTE(name, _bytes_f16)
#else
#define REAL float
#define LOAD(p, i) ((p)[i])
#define STORE(p, i, v) ((p)[i] = (v))
#define LOAD4(p, i) FLOAT4_AT(p, i)
#define STORE4(p, i, v) FLOAT4_TO(p, i, v)
#define DEV_NAME(name) DEV_PASTE(name, _f32)
#define DEV_BYTES_NAME(name) DEV_PASTE(name, _bytes_f32)
#endif
#define MIN_OF(a, b) ((a) < (b) ? (a) : (b))
#define MAX_OF(a, b) ((a) > (b) ? (a) : (b))
