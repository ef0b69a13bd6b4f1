/* SPDX-License-Identifier: Apache-2.0
 * plugins/device/rig.h - a driver on its own: a host that counts, a device, the tests' kernels. */
#ifndef OX_TESTS_DEVICE_RIG_H
#define OX_TESTS_DEVICE_RIG_H

#include "plugins/device/driver.h"
#include "support/check.h"
#include "support/counting_alloc.h"

typedef struct rig_driver {
  const dev_driver *driver;
  const char *const *options; /* keys and values by turns, NULL at the end */
  bool (*start)(void);        /* false: not in this run; NULL: always */
  /* Faults on request; NULL: cannot. The call with this number, from 0, and all later ones fail with |code|; -1: none.
   */
  void (*fail_at)(long call, int code);
  long (*live)(void); /* objects of the API that nobody has released */
  const int *codes;   /* to fail with; 0 at the end */
  int lost;           /* a code after which the device does nothing any more; 0: there is none */
} rig_driver;

/* The drivers of this build that have a device here; NULL at the end. Kept in |out|. */
void rig_find(const rig_driver *out[8]);

typedef struct rig {
  const rig_driver *from;
  const dev_driver *v; /* the driver */
  counting_alloc heap;
  ox_ep_host host;
  dev_device *d;
} rig;

/* |driver| may be NULL for rigs without a device (rig_host). */
void rig_host(rig *r, const rig_driver *from);
ox_status *rig_open(rig *r);
void rig_close(rig *r); /* checks that nothing is left */

/* The tests' kernels as source. */
const char *rig_source(bool f16);

#endif
