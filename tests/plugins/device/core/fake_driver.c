/* SPDX-License-Identifier: Apache-2.0
 * plugins/device/core/fake_driver.c - see fake_driver.h. */
#include "plugins/device/core/fake_driver.h"

#include "base/status.h"

struct fake_driver fake_driver;

static const dev_info *info(const dev_device *d) {
  static const dev_info it = {.name = "fake", .key = "fake", .align = 64};
  (void)d;
  return &it;
}

static ox_status *alloc(dev_device *d, size_t bytes, void **out_address) {
  static uintptr_t next = 1 << 20;
  (void)d;
  if (bytes > fake_driver.room) return ox_fail(OX_OUT_OF_MEMORY, "fake: %zu bytes", bytes);
  fake_driver.room -= bytes, fake_driver.blocks++, fake_driver.allocs++;
  *out_address = (void *)next;
  next += (bytes + 8191) / 4096 * 4096;
  return NULL;
}

static void release(dev_device *d, void *address, size_t bytes) {
  (void)d, (void)address;
  fake_driver.room += bytes, fake_driver.blocks--;
}

const dev_driver dev_the_driver = {.name = "fake", .info = info, .alloc = alloc, .free = release};
