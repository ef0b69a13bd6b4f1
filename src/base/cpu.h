/* SPDX-License-Identifier: Apache-2.0
 * base/cpu.h - the instruction sets that both CPU and operating system support. */
#ifndef OX_BASE_CPU_H
#define OX_BASE_CPU_H

#include <stddef.h>
#include <stdint.h>

typedef uint32_t ox_isa; /* a set of OX_AVX2, OX_AVX512 ... bits; 0 is the scalar baseline */

enum {
#define OX_ISA_ROW(bit, n, name, implies) bit = 1 << (n),
#include "base/isa.inc"
#undef OX_ISA_ROW
};

/* Not instruction sets, but permissions for kernels that travel with them (the CPU provider's option `precision`):
 * float products may be as coarse as with TF32 or bfloat16 where that is faster. */
enum { OX_PRECISION_TF32 = 1 << 30, OX_PRECISION_BF16 = 1 << 29 };

/* A restriction (option `strassen=false`): matrix products must round no worse than plain sums. */
enum { OX_PLAIN_SUMS = 1 << 28 };

/* What CPU and operating system support, determined by the first call. AMX is reported only if Linux grants the tile
 * state (arch_prctl ARCH_REQ_XCOMP_PERM), which that call asks for. */
ox_isa ox_isa_host(void);

/* ox_isa_host() capped by the environment variable OX_ISA ("scalar", "avx2", "avx512" ...); unknown names are ignored.
 */
ox_isa ox_isa_allowed(void);

/* |have| and all that it implies: AVX-512 implies AVX2. */
ox_isa ox_isa_implied(ox_isa have);

/* |have| capped to the level called |name|; |have| itself if there is no such level. */
ox_isa ox_isa_cap(ox_isa have, const char *name);

/* The processor's name for itself; "unknown" where it gives none. */
void ox_cpu_model(char *out, size_t n);
/* The names of a set, separated by blanks; "scalar" for none. */
void ox_isa_text(ox_isa isa, char *out, size_t n);

#endif
