/* SPDX-License-Identifier: Apache-2.0
 * plugins/device/core/fake_driver.h - a driver that only has memory: addresses that nothing lies at. */
#ifndef OX_TESTS_FAKE_DRIVER_H
#define OX_TESTS_FAKE_DRIVER_H

#include "plugins/device/driver.h"

extern struct fake_driver {
  size_t room;   /* bytes that are left; allocations of more fail */
  size_t blocks; /* allocated and not freed */
  size_t allocs; /* since the test began */
} fake_driver;

#endif
