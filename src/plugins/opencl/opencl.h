/* SPDX-License-Identifier: Apache-2.0
 * opencl/opencl.h - what the files of the OpenCL driver share. It asks for OpenCL 1.2 and nothing more. */
#ifndef OX_OPENCL_H
#define OX_OPENCL_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <pthread.h>
#include <stdatomic.h>

#include "plugins/device/driver.h"
#include "plugins/device/fail.h"

/* An allocation. A buffer of OpenCL is a handle, so |begin| is an address that the process has reserved and can neither
 * read nor write. */
typedef struct opencl_block {
  char *begin;
  size_t bytes;
  cl_mem mem;
  uint64_t serial; /* no two allocations of a space have the same; handles come again */
} opencl_block;

/* What all instances on one device share. */
typedef struct opencl_space {
  struct opencl_space *next;
  cl_device_id id;
  cl_context context;
  size_t refs;
  pthread_mutex_t lock; /* of what follows */
  opencl_block *blocks; /* by address */
  size_t n_blocks, room;
  uint64_t serial;
  atomic_uint_fast64_t version; /* of blocks: grows with each change. Release after it; pairs with queues' acquire */
} opencl_space;

struct dev_device {
  ox_ep_host host;
  dev_info info;
  cl_device_id id;
  opencl_space *space;
  cl_context context;      /* the space's */
  cl_command_queue copies; /* of copies without a queue; OpenCL's queues may be used by several threads */
  char flags[96];          /* of builds */
};

/* Where an address lies. */
typedef struct opencl_place {
  cl_mem mem; /* NULL: nowhere, not used */
  cl_ulong offset;
  uint64_t serial; /* 0: nowhere */
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
  pthread_mutex_t lock;              /* arguments are set, then the kernel is put on a queue: one thread at a time */
  opencl_place set[DEV_MAX_BUFFERS]; /* the arguments that |kernel| has */
  bool is_set;
  char name[];
};

enum { OPENCL_HITS = 4 };

struct dev_queue {
  dev_device *device;
  cl_command_queue queue;
  dev_record *recording;
  opencl_block hits[OPENCL_HITS]; /* blocks that were used last, as of |version| */
  uint32_t n_hits, next_hit;
  uint64_t version;
  uint32_t not_flushed; /* launches since the device was last told to start */
};

/* ---- opencl_status.c ---- */

/* "|call|: CL_NAME (code)". */
ox_status *opencl_fail(const ox_ep_host *host, const char *call, cl_int code);
/* A call that returns its code; the status is returned from the function that it stands in. */
#define CL_TRY(host, fn, ...)                                        \
  do {                                                               \
    cl_int code_ = fn(__VA_ARGS__);                                  \
    if (code_ != CL_SUCCESS) return opencl_fail((host), #fn, code_); \
  } while (0)

/* ---- opencl_choice.c ---- */

enum { OPENCL_OPTIONS = 3 };
extern const ox_option_def opencl_options[OPENCL_OPTIONS];
/* The device that the options ask for. */
OX_NODISCARD ox_status *opencl_choose(const ox_ep_host *host, const ox_options *options, cl_device_id *out_id);
/* Fills |out|, and the flags that builds for it get. */
OX_NODISCARD ox_status *opencl_describe(const ox_ep_host *host, cl_device_id id, dev_info *out, char *flags,
                                        size_t room);

/* ---- opencl_space.c ---- */

/* That of device |id|, made if this is the first instance; and its end, with the last one. */
OX_NODISCARD ox_status *opencl_space_join(const ox_ep_host *host, cl_device_id id, opencl_space **out);
void opencl_space_leave(opencl_space *s);
OX_NODISCARD bool opencl_space_add(opencl_space *s, opencl_block block); /* false: out of memory */
cl_mem opencl_space_remove(opencl_space *s, const void *begin);          /* NULL: no block begins there */
/* The block that |address| lies in; the end of a block is no place in it. */
bool opencl_space_find(opencl_space *s, const void *address, opencl_block *out);

/* ---- opencl_memory.c ---- */

ox_status *opencl_alloc(dev_device *d, size_t bytes, void **out_address);
void opencl_free(dev_device *d, void *address, size_t bytes);
ox_status *opencl_copy(dev_device *d, dev_queue *q, void *to, const void *from, size_t bytes, dev_direction way);
/* |q|: whose hits are asked first; NULL: none. */
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
/* Buffers and parameters. |set|: what |k| has of buffers, NULL: nothing; is brought up to date. */
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
