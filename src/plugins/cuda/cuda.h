/* SPDX-License-Identifier: Apache-2.0
 * cuda/cuda.h - common definitions of the CUDA driver. */
#ifndef OX_CUDA_H
#define OX_CUDA_H

#include <pthread.h>

#include "plugins/cuda/cuda_api.h"
#include "plugins/cuda/cuda_libraries.h"
#include "plugins/device/driver.h"
#include "plugins/device/fail.h"

/* ---- cuda_load.c: libraries, each loaded once per process and never unloaded ---- */

extern cuda_functions cu;     /* after cuda_load */
extern nvrtc_functions nvrtc; /* after cuda_load_nvrtc */
extern lt_functions lt;       /* after cuda_load_lt has returned true */
extern dnn_functions dnn;     /* after cuda_load_dnn has returned true */
OX_NODISCARD ox_status *cuda_load(const ox_ep_host *host);
/* |major|: the driver's version; a compiler of that version is preferred, as the driver may not load newer code. */
OX_NODISCARD ox_status *cuda_load_nvrtc(const ox_ep_host *host, int major);
bool cuda_load_lt(int major);
bool cuda_load_dnn(void);
/* Opens the file named by environment variable |variable|; else one of |names| (NULL-terminated) in the folders of
 * ONYX_CUDA_PATH; else in the system's search path. NULL: not found, |why| says why. */
void *cuda_open_library(const char *variable, const char *const *names, char *why, size_t room);

/* ---- cuda_status.c ---- */

/* "CUDA: |call|: NAME (code): text". */
ox_status *cuda_fail(const ox_ep_host *host, const char *call, int code);
/* Calls a function of the driver API; on failure returns a status from the enclosing function. */
#define CU_TRY(d, fn, ...)                               \
  do {                                                   \
    int code_ = cu.fn(__VA_ARGS__);                      \
    if (code_) return cuda_fail(&(d)->host, #fn, code_); \
  } while (0)

/* ---- cuda_choice.c ---- */

enum { CUDA_OPTIONS = 16 };
extern const ox_option_def cuda_options[CUDA_OPTIONS];

typedef enum cuda_search { CUDA_SEARCH_EXHAUSTIVE, CUDA_SEARCH_HEURISTIC, CUDA_SEARCH_DEFAULT } cuda_search;

typedef struct cuda_choice {
  int device_id;
  cu_stream stream; /* given by the user; NULL: none */
  bool tf32, max_workspace;
  cuda_search search;
} cuda_choice;
OX_NODISCARD ox_status *cuda_choose(const ox_ep_host *host, const ox_options *options, cuda_choice *out);

typedef struct cuda_gemm_plan cuda_gemm_plan;
typedef struct cuda_conv_plan cuda_conv_plan;
typedef enum cuda_found { CUDA_NOT_ASKED, CUDA_ABSENT, CUDA_PRESENT } cuda_found;
enum { CUDA_BUCKETS = 64 };

/* Vendors' libraries: handles, and a plan for each shape that was asked about. */
typedef struct cuda_libraries {
  pthread_mutex_t lock; /* guards what follows; held while cuDNN's handle is set to a queue's stream */
  cuda_found has_lt, has_dnn;
  lt_handle lt;
  dnn_handle dnn;
  cuda_gemm_plan *gemms[CUDA_BUCKETS];
  cuda_conv_plan *convs[CUDA_BUCKETS];
  size_t workspace_bytes; /* the maximum over all plans */
} cuda_libraries;

struct dev_device {
  ox_ep_host host;
  dev_info info;
  cuda_choice choice;
  cu_device id;
  cu_context context; /* the primary one, which the process shares; NULL: not retained */
  int sm, driver;     /* 90 is 9.0; 12040 is 12.4 */
  cu_stream copies;   /* for copies without a queue, by any thread */
  cuda_libraries libraries;
};
OX_NODISCARD ox_status *cuda_describe(dev_device *d);

/* cuda_enter makes the device's context current, cuda_leave restores the previous one. Calls of the API must be between
 * the two. */
OX_NODISCARD ox_status *cuda_enter(const dev_device *d, bool *out_pushed);
bool cuda_enter_anyway(const dev_device *d); /* for releases, which continue if this fails */
void cuda_leave(bool pushed);
/* The body of a driver function: evaluates |call| with the context current and returns its status. */
#define CUDA_WITHIN(d, call)                  \
  do {                                        \
    bool pushed_;                             \
    ox_status *st_ = cuda_enter(d, &pushed_); \
    if (st_) return st_;                      \
    st_ = (call);                             \
    cuda_leave(pushed_);                      \
    return st_;                               \
  } while (0)

/* ---- cuda_memory.c ---- */

ox_status *cuda_alloc(dev_device *d, size_t bytes, void **out_address);
void cuda_free(dev_device *d, void *address, size_t bytes);
ox_status *cuda_copy(dev_device *d, dev_queue *q, void *to, const void *from, size_t bytes, dev_direction way);

/* ---- cuda_staging.c: pinned memory for asynchronous copies to the device ---- */

enum { CUDA_PIECES = 2, CUDA_PIECE_BYTES = 4 << 20 };

/* The staging buffers of a queue. Pieces are filled in turn; one is reused when the device has read it. */
typedef struct cuda_staging {
  char *piece[CUDA_PIECES]; /* NULL: not needed yet */
  cu_event read[CUDA_PIECES];
  bool waiting[CUDA_PIECES]; /* |read| is recorded */
  uint32_t now;
  size_t at; /* in piece |now| */
} cuda_staging;
OX_NODISCARD ox_status *cuda_stage(dev_queue *q, void *to, const void *from, size_t bytes);
void cuda_staging_idle(cuda_staging *s); /* to be called when the queue is empty: all pieces are free */
void cuda_staging_release(cuda_staging *s);

/* ---- cuda_module.c ---- */

struct dev_module {
  dev_device *device;
  cu_module module;
  dev_kernel *kernels;
  pthread_mutex_t lock;  /* guards |kernels| */
  unsigned char *binary; /* with its seal (device/seal.h) */
  size_t binary_bytes;
};
struct dev_kernel {
  dev_module *module;
  dev_kernel *next;
  cu_function function;
  char name[];
};
ox_status *cuda_build(dev_device *d, const char *name, const char *source, const void *binary, size_t binary_bytes,
                      dev_module **out_module);
void cuda_module_release(dev_module *m);
const void *cuda_module_binary(dev_module *m, size_t *out_bytes);
ox_status *cuda_kernel(dev_module *m, const char *name, dev_kernel **out_kernel);

/* ---- cuda_queue.c ---- */

struct dev_queue {
  dev_device *device;
  cu_stream stream;
  bool capturing;
  bool stuck; /* a capture could not be ended; that is retried before anything else */
  cuda_staging staging;
  cu_address workspace; /* for libraries; 0: not needed yet. If captured calls use it, the record takes it over */
  size_t workspace_bytes;
  bool workspace_captured;
};
ox_status *cuda_queue_create(dev_device *d, dev_queue **out_queue);
void cuda_queue_release(dev_queue *q);
ox_status *cuda_queue_sync(dev_queue *q);
ox_status *cuda_launch(dev_queue *q, const dev_launch *l);
ox_status *cuda_event_create(dev_device *d, dev_event **out_event);
void cuda_event_release(dev_event *e);
ox_status *cuda_event_record(dev_event *e, dev_queue *q);
ox_status *cuda_event_sync(dev_event *e);

/* ---- cuda_record.c ---- */

ox_status *cuda_record_begin(dev_queue *q);
ox_status *cuda_record_end(dev_queue *q, dev_record **out_record);
ox_status *cuda_record_launch(dev_queue *q, dev_record *r);
void cuda_record_release(dev_record *r);
/* To be called with the context current: */
void cuda_record_abandon(dev_queue *q);
void cuda_record_recover(dev_queue *q); /* if |q| is stuck, tries to end its capture; precedes any other use of |q| */

/* ---- cuda_trial.c: timing of library calls; to be called with the context current ---- */

enum { CUDA_TRIAL_BUFFERS = 6 };

typedef struct cuda_trial {
  dev_device *device;
  cu_address memory;
  cu_event start, end;
  void *buffers[CUDA_TRIAL_BUFFERS]; /* of the requested sizes, uninitialized */
} cuda_trial;
/* False: out of memory, nothing can be measured. cuda_trial_end must be called in any case. */
bool cuda_trial_begin(dev_device *d, const size_t *bytes, int n, cuda_trial *out);
void cuda_trial_end(cuda_trial *t);
/* The time of |call|, which enqueues work on device->copies, in milliseconds; below 0: it failed. */
float cuda_trial_run(const cuda_trial *t, int (*call)(const cuda_trial *t, const void *what), const void *what);

/* ---- cuda_gemm.c, cuda_conv.c, cuda_workspace.c ---- */

ox_status *cuda_gemm_takes(dev_device *d, const dev_gemm *g, bool *out_taken);
ox_status *cuda_gemm(dev_queue *q, const dev_gemm *g);
/* For cuda_conv.c, to be called with the context current and the libraries' lock held: cuda_gemm_takes, cuda_gemm, and
 * the milliseconds of a product without |after| that was taken (below 0: it cannot be measured). */
OX_NODISCARD ox_status *cuda_gemm_prepare(dev_device *d, const dev_gemm *g, bool *out_taken);
int cuda_gemm_put(dev_device *d, const dev_gemm *g, void *workspace, size_t bytes, cu_stream stream,
                  bool *out_prepared);
float cuda_gemm_ms(dev_device *d, const dev_gemm *g);
void cuda_gemm_release(dev_device *d); /* plans and handle; with the context current */
ox_status *cuda_conv_takes(dev_device *d, const dev_conv *c, bool *out_taken);
ox_status *cuda_conv(dev_queue *q, const dev_conv *c);
void cuda_conv_release(dev_device *d);
/* The queue's workspace, large enough for every plan made so far. */
OX_NODISCARD ox_status *cuda_workspace(dev_queue *q, void **out, size_t *out_bytes);
/* The hash bucket of a shape: FNV-1a over its bytes, so it must have no padding. */
uint32_t cuda_bucket(const void *shape, size_t bytes);

#endif
