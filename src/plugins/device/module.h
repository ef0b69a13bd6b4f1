/* SPDX-License-Identifier: Apache-2.0
 * device/module.h - kernels by name. A source is compiled when the first of its kernels is asked for, once for each
 * type of REAL; the binary goes to the kernel cache. */
#ifndef OX_DEVICE_MODULE_H
#define OX_DEVICE_MODULE_H

#include <pthread.h>

#include "plugins/device/kernel_cache.h"

enum { DEV_MOST_MODULES = 128 };

typedef struct dev_modules {
  const ox_ep_host *host;
  dev_device *device;
  dev_kernel_cache cache;
  pthread_mutex_t lock;
  size_t n;
  struct {
    const char *source;
    bool half;
    dev_module *module;
  } of[DEV_MOST_MODULES];
} dev_modules;

/* |cache|: see dev_kernel_cache_init. */
OX_NODISCARD ox_status *dev_modules_init(dev_modules *m, const ox_ep_host *host, dev_device *d, const char *cache);
void dev_modules_deinit(dev_modules *m); /* also fine on a zeroed one */

/* Kernel |name|_f32 or |name|_f16 of kernels/<source>.h; |source| must be a string literal. Any thread may call it.
 * Fails with the compiler's messages. */
OX_NODISCARD ox_status *dev_kernel_find(dev_modules *m, const char *source, const char *name, bool half,
                                        dev_kernel **out_kernel);

#endif
