/* SPDX-License-Identifier: Apache-2.0
 * device/kernel_cache.h - a folder of compiled kernels, reused by later processes. A file's name is a digest of device,
 * driver and source, so stale files are never found. */
#ifndef OX_DEVICE_KERNEL_CACHE_H
#define OX_DEVICE_KERNEL_CACHE_H

#include "plugins/device/driver.h"

typedef struct dev_kernel_cache {
  const ox_ep_host *host;
  const char *key; /* the device's info()->key */
  char *dir;       /* NULL: nothing is cached */
  size_t dir_bytes;
} dev_kernel_cache;

/* |where|: a folder, created if need be; "none"; or "": the one named by ONYX_KERNEL_CACHE, else the user's cache
 * ($XDG_CACHE_HOME/onyx or ~/.cache/onyx), unless the driver caches builds itself or others may write to that folder.
 * |key| is borrowed. */
OX_NODISCARD ox_status *dev_kernel_cache_init(dev_kernel_cache *c, const ox_ep_host *host, const char *key,
                                              const char *where);
void dev_kernel_cache_deinit(dev_kernel_cache *c); /* also fine on a zeroed one */

/* The binary of |name|, compiled from |text|, in malloc'd memory. NULL: it is not cached. */
void *dev_kernel_cache_read(const dev_kernel_cache *c, const char *name, const char *text, size_t *out_bytes);
/* Stores a binary; a failure is only logged. */
void dev_kernel_cache_write(const dev_kernel_cache *c, const char *name, const char *text, const void *bytes, size_t n);

#endif
