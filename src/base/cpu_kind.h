/* SPDX-License-Identifier: Apache-2.0
 * base/cpu_kind.h - how a processor makes its instruction sets, where kernels care. */
#ifndef OX_BASE_CPU_KIND_H
#define OX_BASE_CPU_KIND_H

#include "base/cpu.h"

/* A bit beside those of cpu.h: vectors of 512 bits go through the units in two halves (Zen 4), so that one of 256 bits
 * takes half the time. Says nothing where AVX-512 is missing. */
enum { OX_AVX512_HALVES = 1 << 27 };

/* OX_AVX512_HALVES or 0, as the first call found it. */
ox_isa ox_cpu_kind(void);

#endif
