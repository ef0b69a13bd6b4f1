/* SPDX-License-Identifier: Apache-2.0
 * xnnpack/api2022/core_2022.c - a processor with AVX2 but no AVX-512 is a Zen for the library: only for that one does
 * it take 4 x 16 micro-kernels of float32 products. In Debian's build those of 5 x 16 keep a sum on the stack, so that
 * a step of k takes 12 cycles instead of 5. The library asks for the micro-architecture of core 0 only, and there only.
 */
#include <cpuinfo.h>

/* In place of libcpuinfo's: the loader looks up the library's symbols in the plug-in first. */
__attribute__((visibility("default"))) const struct cpuinfo_core *cpuinfo_get_core(uint32_t index) {
  static const struct cpuinfo_core zen = {
      .processor_count = 1,
      .vendor = cpuinfo_vendor_amd,
      .uarch = cpuinfo_uarch_zen,
  };
  (void)index;
  return &zen;
}
