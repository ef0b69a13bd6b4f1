/* SPDX-License-Identifier: Apache-2.0
 * base/cpu_kind.c - see cpu_kind.h. */
#include "base/cpu_kind.h"

#include <unistd.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#include <stdatomic.h>

/* AMD's family 25: Zen 3, which has no AVX-512, and Zen 4. */
static ox_isa ask(void) {
#if OX_EMULATE_AMX
  return 0; /* what is chosen shall be what a machine with AMX chooses */
#endif
  unsigned a, b, c, d, family;
  if (!__get_cpuid(0, &a, &b, &c, &d)) return 0;
  if (b == signature_INTEL_ebx && c == signature_INTEL_ecx && d == signature_INTEL_edx) return OX_SLOW_L3;
  if (b != signature_AMD_ebx || c != signature_AMD_ecx || d != signature_AMD_edx) return 0;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return 0;
  family = (a >> 8 & 15) + (a >> 20 & 255);
  return family == 25 ? OX_AVX512_HALVES : 0;
}

ox_isa ox_cpu_kind(void) {
  static _Atomic uint32_t known; /* the bits and this one; threads that ask at a time find the same */
  const uint32_t asked = 1;
  uint32_t kind = atomic_load_explicit(&known, memory_order_relaxed);
  if (!kind) {
    kind = ask() | asked;
    atomic_store_explicit(&known, kind, memory_order_relaxed);
  }
  return kind & ~asked;
}
#else
ox_isa ox_cpu_kind(void) { return 0; }
#endif

size_t ox_cpu_l2_bytes(void) {
#if defined(_SC_LEVEL2_CACHE_SIZE)
  long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE); /* of glibc */
  return bytes > 0 ? (size_t)bytes : 0;
#else
  return 0;
#endif
}
