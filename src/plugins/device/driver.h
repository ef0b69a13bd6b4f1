/* SPDX-License-Identifier: Apache-2.0
 * device/driver.h - what a device with memory of its own can do: one table for each API (OpenCL, CUDA). All else of a
 * device provider is written once, above it (core.h).
 *
 * Addresses are the driver's: numbers in one range per allocation, so that address + offset is an address within it.
 * Statuses come from host->status_make and name the call and the API's code. Work that fails later is reported by the
 * next call on the queue that can tell, at the latest queue_sync. Any thread, unless a line says otherwise. */
#ifndef OX_DEVICE_DRIVER_H
#define OX_DEVICE_DRIVER_H

#include <stdbool.h>

#include "onyx/ep.h"

typedef struct dev_device dev_device;
typedef struct dev_queue dev_queue; /* work in order; one thread at a time */
typedef struct dev_event dev_event;
typedef struct dev_module dev_module; /* a built source */
typedef struct dev_kernel dev_kernel; /* of a module, and lives as long */
typedef struct dev_record dev_record; /* launches and copies, recorded once to be put on a queue as one */

enum { DEV_MAX_BUFFERS = 8, DEV_MAX_PARAMS = 1024 };

typedef struct dev_info {
  char name[256];       /* for people: vendor, product */
  char key[256];        /* changes when built modules stop to fit: device, driver, API version */
  uint32_t n_units;     /* compute units, multiprocessors */
  uint32_t max_items;   /* of a group; at least 256 or open fails */
  size_t local_bytes;   /* of a group; at least 32 KiB or open fails */
  size_t memory_bytes;  /* 0: unknown */
  uint32_t align;       /* of allocations, a power of two */
  uint64_t space;       /* devices of a process with the same one, not 0, use each other's addresses */
  bool is_cpu;          /* its items are loops on processors: few groups, long inner loops */
  bool host_accessible; /* the CPU may read and write its memory at these addresses */
} dev_info;

/* A kernel of kernels/dialect.h on groups[0] x groups[1] x groups[2] groups (none of them 0) of |items| items each. */
typedef struct dev_launch {
  dev_kernel *kernel;
  uint32_t groups[3];
  uint32_t items;
  uint32_t n_buffers;
  void *buffers[DEV_MAX_BUFFERS]; /* addresses; NULL: not used by these parameters */
  const void *params;             /* copied before launch returns */
  size_t params_bytes;            /* at most DEV_MAX_PARAMS */
} dev_launch;

typedef enum dev_direction { DEV_TO_DEVICE, DEV_TO_HOST, DEV_WITHIN } dev_direction;

/* What a library does to a sum before it stores it: v + bias + add, then max(v, 0) where NaN stays NaN. */
typedef struct dev_after {
  bool with_bias, with_add, relu;
  const void *bias; /* per column of a product, per channel of a convolution; of the result's type, as |add| */
  const void *add;  /* of the result's shape; not where the result goes */
} dev_after;

/* C = A B, row-major, for a vendor's library: per batch A [m, k] (or [k, m] if trans_a), B [k, n] (or [n, k]), C [m,
 * n]. Strides count elements from one batch to the next; 0: the same for all. */
typedef struct dev_gemm {
  uint32_t dtype; /* OX_F32 or OX_F16, of all three; sums in float32 */
  int64_t batch, m, n, k;
  bool trans_a, trans_b;
  int64_t stride_a, stride_b, stride_c;
  const void *a, *b;
  void *c;
  dev_after after;
} dev_gemm;

/* Convolution, NCHW, weights OIHW; 1-D has height 1. */
typedef struct dev_conv {
  uint32_t dtype;
  int64_t n, c, h, w, o, kh, kw, group;
  int64_t stride[2], dilation[2], pads[4]; /* top, left, bottom, right */
  int64_t oh, ow;
  const void *x, *weights;
  void *y;
  dev_after after;
} dev_conv;

typedef struct dev_driver {
  const char *name;             /* the provider's: "opencl" */
  const ox_option_def *options; /* the driver's own, besides those of core.h */
  size_t n_options;
  ox_status *(*open)(const ox_ep_host *host, const ox_options *options, dev_device **out_device);
  void (*close)(dev_device *d); /* after everything made with it is released */
  const dev_info *(*info)(const dev_device *d);

  ox_status *(*alloc)(dev_device *d, size_t bytes, void **out_address);
  void (*free)(dev_device *d, void *address, size_t bytes);

  /* Builds |source|; or takes |binary| of an earlier build, for the same info()->key, without building: an error says
   * that it does not fit. Messages of the compiler are in the status. */
  ox_status *(*build)(dev_device *d, const char *name, const char *source, const void *binary, size_t binary_bytes,
                      dev_module **out_module);
  void (*module_release)(dev_module *m);
  /* What build takes as binary. Borrowed from the module; NULL: it has none. */
  const void *(*module_binary)(dev_module *m, size_t *out_bytes);
  ox_status *(*kernel)(dev_module *m, const char *name, dev_kernel **out_kernel);
  bool keeps_builds; /* a source that was built in an earlier process is not compiled again */

  ox_status *(*queue_create)(dev_device *d, dev_queue **out_queue);
  void (*queue_release)(dev_queue *q);
  ox_status *(*queue_sync)(dev_queue *q);
  ox_status *(*launch)(dev_queue *q, const dev_launch *l);
  /* |q| NULL: done when it returns, from any thread; else what the host has of it stays as it is until the queue is
   * there. */
  ox_status *(*copy)(dev_device *d, dev_queue *q, void *to, const void *from, size_t bytes, dev_direction way);

  ox_status *(*event_create)(dev_device *d, dev_event **out_event);
  void (*event_release)(dev_event *e);
  ox_status *(*event_record)(dev_event *e, dev_queue *q);
  ox_status *(*event_sync)(dev_event *e);

  /* Recording: between begin and end, launch and copies within the device put nothing on the queue. A record may be put
   * on any queue of the device, again and again, not on two at a time. All or none. */
  ox_status *(*record_begin)(dev_queue *q);
  ox_status *(*record_end)(dev_queue *q, dev_record **out_record);
  ox_status *(*record_launch)(dev_queue *q, dev_record *r);
  void (*record_release)(dev_record *r);

  /* Vendors' libraries, optional. The first two, with no addresses yet, say whether calls for such shapes are better
   * than the kernels, and prepare them; calls then allocate nothing. They may be recorded if libraries_record says so.
   */
  ox_status *(*gemm_takes)(dev_device *d, const dev_gemm *g, bool *out_taken);
  ox_status *(*conv_takes)(dev_device *d, const dev_conv *c, bool *out_taken);
  ox_status *(*gemm)(dev_queue *q, const dev_gemm *g);
  ox_status *(*conv)(dev_queue *q, const dev_conv *c);
  bool libraries_record;
} dev_driver;

/* The one that this library is built with. */
extern const dev_driver dev_the_driver;

#endif
