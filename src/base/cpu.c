/* SPDX-License-Identifier: Apache-2.0
 * base/cpu.c - CPU features. Compiled for the baseline only: this code runs before anything is known. */
#define _DEFAULT_SOURCE
#include "base/cpu.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"

/* Up to the first 0 of |text|, without what is not printable and without blanks at either end. */
static void put_printable(char *out, size_t n, const char *text, size_t length) {
  size_t at = 0;
  for (size_t i = 0; i < length && text[i] && at + 1 < n; i++)
    if ((text[i] > ' ' && text[i] <= '~') || (text[i] == ' ' && at)) out[at++] = text[i];
  while (at && out[at - 1] == ' ') at--;
  out[at] = 0;
  if (!at) snprintf(out, n, "unknown");
}

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

static uint64_t xgetbv0(void) {
  uint32_t lo, hi;
  __asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
  return (uint64_t)hi << 32 | lo;
}

/* Tile data is state component 18; Linux 5.16 and later grant it on request, once per process. */
static bool amx_granted(void) {
#if defined(__linux__) && defined(__x86_64__)
  enum { ARCH_REQ_XCOMP_PERM = 0x1023, XTILEDATA = 18 };
  return syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XTILEDATA) == 0;
#else
  return false;
#endif
}

static ox_isa ask_host(void) {
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return 0;
  bool fma = c >> 12 & 1, osxsave = c >> 27 & 1, f16c = c >> 29 & 1;
  if (!osxsave || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return 0;
  unsigned ebx = b, ecx = c, edx = d, sub = a;
  uint64_t xcr0 = xgetbv0();
  ox_isa have = 0;
  if ((xcr0 & 0x6) == 0x6 && fma && f16c && (ebx >> 5 & 1)) have |= OX_AVX2;
  bool zmm = (xcr0 & 0xe6) == 0xe6;
  bool f = ebx >> 16 & 1, dq = ebx >> 17 & 1, bw = ebx >> 30 & 1, vl = ebx >> 31 & 1;
  if (have && zmm && f && dq && bw && vl) have |= OX_AVX512;
  unsigned eax1 = 0;
  if (sub >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d)) eax1 = a;
  if (have && (eax1 >> 4 & 1)) have |= OX_AVXVNNI;
  if ((have & OX_AVX512) && (ecx >> 11 & 1)) have |= OX_VNNI;
  if ((have & OX_AVX512) && (eax1 >> 5 & 1)) have |= OX_AVX512BF16;
#if OX_EMULATE_AMX
  if (have & OX_VNNI) have |= OX_AMX_INT8;
  if (have & OX_AVX512BF16) have |= OX_AMX_BF16;
  return have;
#endif
  bool tiles = (edx >> 24 & 1) && (xcr0 & 0x60000) == 0x60000;
  if (tiles && (edx >> 25 & 1) && (have & OX_VNNI) && amx_granted()) have |= OX_AMX_INT8;
  if (tiles && (edx >> 22 & 1) && (have & OX_AVX512BF16) && amx_granted()) have |= OX_AMX_BF16;
  return have;
}

/* Asked once: a hypervisor answers each CPUID itself, which took one 4 us, and there are up to five. */
ox_isa ox_isa_host(void) {
  static _Atomic uint64_t known; /* the bits and this one; threads that ask at a time find the same */
  const uint64_t asked = (uint64_t)1 << 63;
  uint64_t have = atomic_load_explicit(&known, memory_order_relaxed);
  if (!have) {
    have = ask_host() | asked;
    atomic_store_explicit(&known, have, memory_order_relaxed);
  }
  return (ox_isa)(have & ~asked);
}

void ox_cpu_model(char *out, size_t n) {
  unsigned brand[12] = {0}, most = __get_cpuid_max(0x80000000, NULL);
  for (unsigned i = 0; i < 3 && most >= 0x80000004; i++)
    __get_cpuid(0x80000002 + i, &brand[4 * i], &brand[4 * i + 1], &brand[4 * i + 2], &brand[4 * i + 3]);
  put_printable(out, n, (const char *)brand, sizeof brand);
}
#else
#if defined(__aarch64__)
ox_isa ox_isa_host(void) { return OX_NEON; /* part of the ARMv8-A baseline */ }
#else
ox_isa ox_isa_host(void) { return 0; }
#endif

/* The main identification register, where the system shows it. */
void ox_cpu_model(char *out, size_t n) {
  char text[32] = "";
  FILE *f = fopen("/sys/devices/system/cpu/cpu0/regs/identification/midr_el1", "r");
  size_t got = f ? fread(text, 1, sizeof text, f) : 0;
  if (f) fclose(f);
  put_printable(out, n, text, got);
}
#endif

static const struct {
  ox_isa bit;
  const char *name;
  ox_isa implies;
} levels[] = {
#define OX_ISA_ROW(bit, n, name, implies) {bit, name, implies},
#include "base/isa.inc"
#undef OX_ISA_ROW
};

ox_isa ox_isa_implied(ox_isa have) {
  for (size_t i = OX_COUNT(levels); i-- > 0;) /* the weaker come first */
    if (have & levels[i].bit) have |= levels[i].implies;
  return have;
}

ox_isa ox_isa_cap(ox_isa have, const char *name) {
  if (strcmp(name, "scalar") == 0) return 0;
  ox_isa keep = 0;
  for (size_t i = 0; i < OX_COUNT(levels); i++) {
    keep |= levels[i].bit;
    if (strcmp(levels[i].name, name) == 0) return have & keep;
  }
  return have;
}

ox_isa ox_isa_allowed(void) {
  const char *cap = getenv("OX_ISA");
  return cap ? ox_isa_cap(ox_isa_host(), cap) : ox_isa_host();
}

void ox_isa_text(ox_isa isa, char *out, size_t n) {
  size_t at = (size_t)snprintf(out, n, "%s", isa ? "" : "scalar");
  for (size_t i = 0; i < OX_COUNT(levels) && at < n; i++)
    if (isa & levels[i].bit) at += (size_t)snprintf(out + at, n - at, "%s%s", at ? " " : "", levels[i].name);
}
