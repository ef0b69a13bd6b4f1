/* SPDX-License-Identifier: Apache-2.0
 * base/cpu_kind.h - how a processor implements its instruction sets, where kernels care. */
#ifndef OX_BASE_CPU_KIND_H
#define OX_BASE_CPU_KIND_H

#include "base/cpu.h"

/* A bit besides those of cpu.h: 512-bit vectors are executed as two halves (Zen 4), so a 256-bit one takes half the
 * time. Meaningless without AVX-512. */
enum { OX_AVX512_HALVES = 1 << 27 };

/* Likewise: one core reads what is beyond its L2 several times slower than L2, and faster if instructions prefetch it
 * to L2 (Intel: 30 GB/s from L3 where Zen reads 100). */
enum { OX_SLOW_L3 = 1 << 26 };

/* Of these bits those that hold, determined by the first call. */
ox_isa ox_cpu_kind(void);

/* The bytes of one core's L2 cache; 0: unknown. */
size_t ox_cpu_l2_bytes(void);

#endif
