/* SPDX-License-Identifier: Apache-2.0
 * device/driver.h - the interface to a device with memory of its own: one table for each API (OpenCL, CUDA). The rest
 * of a device provider is written once, on top of it (core.h).
 *
 * Addresses are defined by the driver: each allocation is one range of numbers, so address + offset is an address
 * within it. Statuses come from host->status_make and name the call and the API's error code. Work that fails
 * asynchronously is reported by a later call on the queue, at the latest by queue_sync. Functions may be called from
 * any thread unless noted otherwise. */
#ifndef OX_DEVICE_DRIVER_H
#define OX_DEVICE_DRIVER_H

#include <stdbool.h>

#include "onyx/ep.h"

typedef struct dev_device dev_device;
typedef struct dev_queue dev_queue; /* in-order; used by one thread at a time */
typedef struct dev_event dev_event;
typedef struct dev_module dev_module; /* a compiled source */
typedef struct dev_kernel dev_kernel; /* belongs to a module and lives as long */
typedef struct dev_record dev_record; /* launches and copies, recorded once and then enqueued by one call */

enum { DEV_MAX_BUFFERS = 8, DEV_MAX_PARAMS = 1024 };

typedef struct dev_info {
  char name[256];       /* for display: vendor, product */
  char key[256];        /* device, driver, API version: binaries of modules are valid for the same key only */
  uint32_t n_units;     /* compute units, multiprocessors */
  uint32_t max_items;   /* work items per group; at least 256, or open fails */
  size_t local_bytes;   /* local memory per group; at least 32 KiB, or open fails */
  size_t memory_bytes;  /* 0: unknown */
  uint32_t align;       /* alignment of allocations, a power of two */
  uint64_t space;       /* devices of a process with the same nonzero value share addresses */
  bool is_cpu;          /* a CPU, which runs items as loops: prefers few groups and long inner loops */
  bool host_accessible; /* the CPU may read and write its memory at these addresses */
} dev_info;

/* A launch of groups[0] x groups[1] x groups[2] groups (none of them 0) of |items| work items each. */
typedef struct dev_launch {
  dev_kernel *kernel;
  uint32_t groups[3];
  uint32_t items;
  uint32_t n_buffers;
  void *buffers[DEV_MAX_BUFFERS]; /* addresses; NULL where the kernel, with these parameters, uses none */
  const void *params;             /* copied before launch returns */
  size_t params_bytes;            /* at most DEV_MAX_PARAMS */
} dev_launch;

typedef enum dev_direction { DEV_TO_DEVICE, DEV_TO_HOST, DEV_WITHIN } dev_direction;

/* The epilogue of a library's call: v + bias + add, then max(v, 0), which keeps NaN. */
typedef struct dev_after {
  bool with_bias, with_add, relu;
  const void *bias; /* one per column of a product, one per channel of a convolution; of the result's type */
  const void *add;  /* of the result's shape and type; must not overlap the result */
} dev_after;

/* C = A B, row-major, for a vendor's library. Per batch A is [m, k] ([k, m] if trans_a), B [k, n] ([n, k] if trans_b),
 * C [m, n]. Strides are in elements from one batch to the next; 0: all batches share the matrix. */
typedef struct dev_gemm {
  uint32_t dtype; /* OX_F32 or OX_F16, of all three; sums in float32 */
  int64_t batch, m, n, k;
  bool trans_a, trans_b;
  int64_t stride_a, stride_b, stride_c;
  const void *a, *b;
  void *c;
  dev_after after;
} dev_gemm;

/* A convolution, NCHW, weights OIHW; 1-D convolutions have height 1. */
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
  const char *name;             /* of the provider: "opencl" */
  const ox_option_def *options; /* the driver's own, in addition to those of device_ep.c */
  size_t n_options;
  ox_status *(*open)(const ox_ep_host *host, const ox_options *options, dev_device **out_device);
  void (*close)(dev_device *d); /* everything created with it must have been released */
  const dev_info *(*info)(const dev_device *d);

  ox_status *(*alloc)(dev_device *d, size_t bytes, void **out_address);
  void (*free)(dev_device *d, void *address, size_t bytes);

  /* Compiles |source|, or loads |binary| from an earlier build for the same info()->key (an error if it does not fit).
   * The compiler's messages are in the status. */
  ox_status *(*build)(dev_device *d, const char *name, const char *source, const void *binary, size_t binary_bytes,
                      dev_module **out_module);
  void (*module_release)(dev_module *m);
  /* The binary that build accepts. Borrowed from the module; NULL: there is none. */
  const void *(*module_binary)(dev_module *m, size_t *out_bytes);
  ox_status *(*kernel)(dev_module *m, const char *name, dev_kernel **out_kernel);
  bool keeps_builds; /* the API itself caches builds across processes */

  ox_status *(*queue_create)(dev_device *d, dev_queue **out_queue);
  void (*queue_release)(dev_queue *q);
  ox_status *(*queue_sync)(dev_queue *q);
  ox_status *(*launch)(dev_queue *q, const dev_launch *l);
  /* |q| NULL: synchronous, from any thread. Else the host's side must stay valid and unchanged until the queue has
   * executed the copy. */
  ox_status *(*copy)(dev_device *d, dev_queue *q, void *to, const void *from, size_t bytes, dev_direction way);

  ox_status *(*event_create)(dev_device *d, dev_event **out_event);
  void (*event_release)(dev_event *e);
  ox_status *(*event_record)(dev_event *e, dev_queue *q);
  ox_status *(*event_sync)(dev_event *e);

  /* Recording: between begin and end, launches and copies within the device are recorded, not enqueued. A record may be
   * launched repeatedly on any queue of the device, but not on two at a time. A driver has all four functions or none.
   */
  ox_status *(*record_begin)(dev_queue *q);
  ox_status *(*record_end)(dev_queue *q, dev_record **out_record);
  ox_status *(*record_launch)(dev_queue *q, dev_record *r);
  void (*record_release)(dev_record *r);

  /* Vendors' libraries, optional. gemm_takes and conv_takes, called without addresses, tell whether the library is
   * preferable to our kernels for such shapes, and prepare it, so that calls allocate nothing. Calls may be recorded if
   * libraries_record is true. */
  ox_status *(*gemm_takes)(dev_device *d, const dev_gemm *g, bool *out_taken);
  ox_status *(*conv_takes)(dev_device *d, const dev_conv *c, bool *out_taken);
  ox_status *(*gemm)(dev_queue *q, const dev_gemm *g);
  ox_status *(*conv)(dev_queue *q, const dev_conv *c);
  bool libraries_record;
} dev_driver;

/* The driver that this library is built with. */
extern const dev_driver dev_the_driver;

#endif
