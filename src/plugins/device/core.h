/* SPDX-License-Identifier: Apache-2.0
 * device/core.h - a device provider's instance: what its files share. From claim to run: device_ep.c asks op.h's table
 * what the device takes; program.c holds a part and finds its plan for the shapes of a run; plan.c lets operators turn
 * nodes into steps and gives memory to what lies between them; step.c puts steps on a queue. module.c has the kernels.
 * Memory comes from the host's arena over the driver's. */
#ifndef OX_DEVICE_CORE_H
#define OX_DEVICE_CORE_H

#include <pthread.h>

#include "base/arena.h"
#include "plugins/device/fail.h"
#include "plugins/device/module.h"
#include "plugins/device/op.h"

struct ox_ep {
  ox_ep_host host;
  dev_device *device;
  dev_modules modules;
  bool record, libraries; /* options */
  uint8_t *lies;          /* room for dev_lies of a graph's values, for calls that the host serialises */
  size_t lies_room;
  pthread_mutex_t lock; /* of the list */
  struct ox_program *programs;
  char place[520]; /* what describe gave */
};

/* A stream of a run: a queue, and memory for what lies between the nodes of one part. Programs on it run one after the
 * other, so they share it. */
typedef struct dev_stream {
  dev_queue *queue;
  char *work;
  size_t work_bytes;
  uint64_t moves; /* of |work| */
} dev_stream;

/* Of the device's memory, by way of the host. */
OX_NODISCARD ox_status *dev_take(ox_ep *ep, size_t bytes, void **out_address);
void dev_give(ox_ep *ep, void *address, size_t bytes); /* NULL is fine */

#endif
