/* SPDX-License-Identifier: Apache-2.0
 * device/kernel_cache.h - a folder of what the driver made of kernels, for the processes to come. A file's name is a
 * digest of device, driver and source: what does not fit is not found. */
#ifndef OX_DEVICE_KERNEL_CACHE_H
#define OX_DEVICE_KERNEL_CACHE_H

#include "plugins/device/driver.h"

typedef struct dev_kernel_cache {
  const ox_ep_host *host;
  const char *key; /* of the device */
  char *dir;       /* NULL: nothing is kept */
  size_t dir_bytes;
} dev_kernel_cache;

/* |where|: a folder that is there or can be made; "none"; or "": what ONYX_KERNEL_CACHE says, else where users' caches
 * are ($XDG_CACHE_HOME/onyx or ~/.cache/onyx), unless the driver keeps builds itself or the folder is not the user's
 * alone. |key| is borrowed. */
OX_NODISCARD ox_status *dev_kernel_cache_init(dev_kernel_cache *c, const ox_ep_host *host, const char *key,
                                              const char *where);
void dev_kernel_cache_deinit(dev_kernel_cache *c); /* also fine on a zeroed one */

/* The driver's bytes for |name|, built of |text|, in malloc'd memory. NULL: they are not there. */
void *dev_kernel_cache_read(const dev_kernel_cache *c, const char *name, const char *text, size_t *out_bytes);
/* For the next time; a failure is logged only. */
void dev_kernel_cache_write(const dev_kernel_cache *c, const char *name, const char *text, const void *bytes, size_t n);

#endif
