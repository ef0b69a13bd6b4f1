/* SPDX-License-Identifier: Apache-2.0
 * device/core.h - a device provider's instance, shared by its files. From claim to run: device_ep.c asks op.h's table
 * which nodes the device takes; program.c holds a part and finds its plan for the shapes of a run; plan.c has operators
 * turn nodes into steps and allocates the values between them; step.c enqueues the steps. module.c builds the kernels.
 * Memory comes from the host's arena on top of the driver's allocator. */
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
  uint8_t *lies;          /* buffer for the dev_lies of a graph's values; its users are serialised by the host */
  size_t lies_room;
  pthread_mutex_t lock; /* guards |programs| */
  struct ox_program *programs;
  char place[520]; /* the text returned by describe */
};

/* A stream of a run: a queue, and work memory for values inside of parts. Programs on a stream run one after the other,
 * so they share that memory. */
typedef struct dev_stream {
  dev_queue *queue;
  char *work;
  size_t work_bytes;
  uint64_t moves; /* how often |work| has been reallocated */
} dev_stream;

/* Device memory, allocated through the host's arena. */
OX_NODISCARD ox_status *dev_take(ox_ep *ep, size_t bytes, void **out_address);
void dev_give(ox_ep *ep, void *address, size_t bytes); /* NULL is fine */

#endif
