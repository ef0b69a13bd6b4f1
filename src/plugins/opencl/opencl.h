/* SPDX-License-Identifier: Apache-2.0
 * opencl/opencl.h - common definitions of the OpenCL driver, which needs only OpenCL 1.2. */
#ifndef OX_OPENCL_H
#define OX_OPENCL_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <pthread.h>
#include <stdatomic.h>

#include "plugins/device/driver.h"
#include "plugins/device/fail.h"

/* An allocation. OpenCL's buffers are handles without addresses, so |begin| is a range of addresses that the process
 * has reserved and can neither read nor write. */
typedef struct opencl_block {
  char *begin;
  size_t bytes;
  cl_mem mem;
  uint64_t serial; /* unique within a space, unlike handles, which may be reused */
} opencl_block;

/* Shared by all instances on one device. */
typedef struct opencl_space {
  struct opencl_space *next;
  cl_device_id id;
  cl_context context;
  size_t refs;
  pthread_mutex_t lock; /* guards what follows */
  opencl_block *blocks; /* sorted by address */
  size_t n_blocks, room;
  uint64_t serial;
  atomic_uint_fast64_t version; /* incremented (release) after each change of |blocks|; pairs with queues' acquire */
} opencl_space;

struct dev_device {
  ox_ep_host host;
  dev_info info;
  cl_device_id id;
  opencl_space *space;
  cl_context context;      /* the space's */
  cl_command_queue copies; /* of copies without a queue; OpenCL's queues may be used by several threads */
  char flags[96];          /* for the compiler */
};

/* An address resolved to a buffer and an offset. */
typedef struct opencl_place {
  cl_mem mem; /* NULL: the address was NULL */
  cl_ulong offset;
  uint64_t serial; /* of the block; 0: none */
} opencl_place;

struct dev_module {
  dev_device *device;
  cl_program program;
  pthread_mutex_t lock; /* of what follows */
  dev_kernel *kernels;
  unsigned char *binary;
  size_t binary_bytes;
};

struct dev_kernel {
  dev_module *module;
  dev_kernel *next;
  cl_kernel kernel;
  pthread_mutex_t lock;              /* held while arguments are set and the kernel is enqueued */
  opencl_place set[DEV_MAX_BUFFERS]; /* the arguments currently set */
  bool is_set;
  char name[];
};

enum { OPENCL_HITS = 4 };

struct dev_queue {
  dev_device *device;
  cl_command_queue queue;
  dev_record *recording;
  opencl_block hits[OPENCL_HITS]; /* a cache of recently used blocks, valid for |version| */
  uint32_t n_hits, next_hit;
  uint64_t version;
  uint32_t not_flushed; /* launches since the last clFlush */
};

/* ---- opencl_status.c ---- */

/* "|call|: CL_NAME (code)". */
ox_status *opencl_fail(const ox_ep_host *host, const char *call, cl_int code);
/* Calls a function that returns an error code; on failure returns a status from the enclosing function. */
#define CL_TRY(host, fn, ...)                                        \
  do {                                                               \
    cl_int code_ = fn(__VA_ARGS__);                                  \
    if (code_ != CL_SUCCESS) return opencl_fail((host), #fn, code_); \
  } while (0)

/* ---- opencl_choice.c ---- */

enum { OPENCL_OPTIONS = 3 };
extern const ox_option_def opencl_options[OPENCL_OPTIONS];
/* Selects the device by the options. */
OX_NODISCARD ox_status *opencl_choose(const ox_ep_host *host, const ox_options *options, cl_device_id *out_id);
/* Fills |out|, and the compiler's flags for the device. */
OX_NODISCARD ox_status *opencl_describe(const ox_ep_host *host, cl_device_id id, dev_info *out, char *flags,
                                        size_t room);

/* ---- opencl_space.c ---- */

/* The space of device |id|, created for the first instance and destroyed with the last one. */
OX_NODISCARD ox_status *opencl_space_join(const ox_ep_host *host, cl_device_id id, opencl_space **out);
void opencl_space_leave(opencl_space *s);
OX_NODISCARD bool opencl_space_add(opencl_space *s, opencl_block block); /* false: out of memory */
cl_mem opencl_space_remove(opencl_space *s, const void *begin);          /* NULL: no block begins there */
/* Finds the block that contains |address|; a block does not contain its end. */
bool opencl_space_find(opencl_space *s, const void *address, opencl_block *out);

/* ---- opencl_memory.c ---- */

ox_status *opencl_alloc(dev_device *d, size_t bytes, void **out_address);
void opencl_free(dev_device *d, void *address, size_t bytes);
ox_status *opencl_copy(dev_device *d, dev_queue *q, void *to, const void *from, size_t bytes, dev_direction way);
/* Resolves an address. |q|: a queue whose cache is tried first; NULL: none. */
OX_NODISCARD ox_status *opencl_find(dev_device *d, dev_queue *q, const void *address, opencl_place *out);

/* ---- opencl_module.c ---- */

ox_status *opencl_build(dev_device *d, const char *name, const char *source, const void *binary, size_t binary_bytes,
                        dev_module **out_module);
void opencl_module_release(dev_module *m);
const void *opencl_module_binary(dev_module *m, size_t *out_bytes);
ox_status *opencl_kernel(dev_module *m, const char *name, dev_kernel **out_kernel);

/* ---- opencl_queue.c ---- */

ox_status *opencl_queue_create(dev_device *d, dev_queue **out_queue);
void opencl_queue_release(dev_queue *q);
ox_status *opencl_queue_sync(dev_queue *q);
ox_status *opencl_launch(dev_queue *q, const dev_launch *l);
ox_status *opencl_event_create(dev_device *d, dev_event **out_event);
void opencl_event_release(dev_event *e);
ox_status *opencl_event_record(dev_event *e, dev_queue *q);
ox_status *opencl_event_sync(dev_event *e);
/* Sets buffers and parameters. |set|: the buffers that |k| already has, which are skipped; NULL: none. */
cl_int opencl_set_arguments(cl_kernel k, const opencl_place *places, const opencl_place *set, const dev_launch *l);

/* ---- opencl_record.c ---- */

ox_status *opencl_record_begin(dev_queue *q);
ox_status *opencl_record_end(dev_queue *q, dev_record **out_record);
ox_status *opencl_record_launch(dev_queue *q, dev_record *r);
void opencl_record_release(dev_record *r);
OX_NODISCARD ox_status *opencl_record_add(dev_queue *q, const dev_launch *l, const opencl_place *places);
OX_NODISCARD ox_status *opencl_record_add_copy(dev_queue *q, const opencl_place *to, const opencl_place *from,
                                               size_t bytes);

#endif
