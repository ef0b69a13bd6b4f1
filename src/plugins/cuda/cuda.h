/* SPDX-License-Identifier: Apache-2.0
 * cuda/cuda.h - what the files of the CUDA driver share. */
#ifndef OX_CUDA_H
#define OX_CUDA_H

#include <pthread.h>

#include "plugins/cuda/cuda_api.h"
#include "plugins/cuda/cuda_libraries.h"
#include "plugins/device/driver.h"
#include "plugins/device/fail.h"

/* ---- cuda_load.c: libraries, each loaded once for the process and never left ---- */

extern cuda_functions cu;     /* after cuda_load */
extern nvrtc_functions nvrtc; /* after cuda_load_nvrtc */
extern lt_functions lt;       /* after cuda_load_lt has said that it is there */
extern dnn_functions dnn;     /* after cuda_load_dnn has */
OX_NODISCARD ox_status *cuda_load(const ox_ep_host *host);
/* |major|: of the driver's version; of several compilers the one that is not newer. */
OX_NODISCARD ox_status *cuda_load_nvrtc(const ox_ep_host *host, int major);
bool cuda_load_lt(int major);
bool cuda_load_dnn(void);
/* A library: what environment variable |variable| names; else |names| in the folders of ONYX_CUDA_PATH; else as the
 * system finds them. NULL at the end of |names|. NULL: not found, |why| says why. */
void *cuda_open_library(const char *variable, const char *const *names, char *why, size_t room);

/* ---- cuda_status.c ---- */

/* "CUDA: |call|: NAME (code): text". */
ox_status *cuda_fail(const ox_ep_host *host, const char *call, int code);
/* A call; its failure is returned from the function that it stands in. */
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
  cu_stream stream; /* the user's; NULL: none */
  bool tf32, max_workspace;
  cuda_search search;
} cuda_choice;
OX_NODISCARD ox_status *cuda_choose(const ox_ep_host *host, const ox_options *options, cuda_choice *out);

typedef struct cuda_gemm_plan cuda_gemm_plan;
typedef struct cuda_conv_plan cuda_conv_plan;
typedef enum cuda_found { CUDA_NOT_ASKED, CUDA_ABSENT, CUDA_PRESENT } cuda_found;
enum { CUDA_BUCKETS = 64 };

/* Vendors' libraries: handles, and how each shape that was asked about is computed. */
typedef struct cuda_libraries {
  pthread_mutex_t lock; /* of what follows; held while cuDNN's handle is on a queue's stream */
  cuda_found has_lt, has_dnn;
  lt_handle lt;
  dnn_handle dnn;
  cuda_gemm_plan *gemms[CUDA_BUCKETS];
  cuda_conv_plan *convs[CUDA_BUCKETS];
  size_t workspace_bytes; /* the most that a plan needs */
} cuda_libraries;

struct dev_device {
  ox_ep_host host;
  dev_info info;
  cuda_choice choice;
  cu_device id;
  cu_context context; /* the primary one, which the process shares; NULL: not retained */
  int sm, driver;     /* 90 is 9.0; 12040 is 12.4 */
  cu_stream copies;   /* of copies without a queue, any thread */
  cuda_libraries libraries;
};
OX_NODISCARD ox_status *cuda_describe(dev_device *d);

/* Makes the device's context current, and what was current before again. Calls of the API stand between the two. */
OX_NODISCARD ox_status *cuda_enter(const dev_device *d, bool *out_pushed);
bool cuda_enter_anyway(const dev_device *d); /* for releases, which go on whatever fails */
void cuda_leave(bool pushed);
/* A function of the driver: |call| with the context. */
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

/* ---- cuda_staging.c: memory that the device can read while the processor goes on ---- */

enum { CUDA_PIECES = 2, CUDA_PIECE_BYTES = 4 << 20 };

/* A queue's. Pieces are filled one after the other; one is used again when the device has read it. */
typedef struct cuda_staging {
  char *piece[CUDA_PIECES]; /* NULL: not needed yet */
  cu_event read[CUDA_PIECES];
  bool waiting[CUDA_PIECES]; /* |read| is recorded */
  uint32_t now;
  size_t at; /* in piece |now| */
} cuda_staging;
OX_NODISCARD ox_status *cuda_stage(dev_queue *q, void *to, const void *from, size_t bytes);
void cuda_staging_idle(cuda_staging *s); /* the queue is empty */
void cuda_staging_release(cuda_staging *s);

/* ---- cuda_module.c ---- */

struct dev_module {
  dev_device *device;
  cu_module module;
  dev_kernel *kernels;
  pthread_mutex_t lock;  /* of kernels */
  unsigned char *binary; /* sealed */
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
  bool stuck; /* the capture could not be ended: tried again before anything else */
  cuda_staging staging;
  cu_address workspace; /* of libraries; 0: not needed yet. What is captured keeps it: it goes to the record */
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
/* Both within the context. */
void cuda_record_abandon(dev_queue *q);
void cuda_record_recover(dev_queue *q); /* before anything else on |q|: ends a capture that could not be ended */

/* ---- cuda_trial.c: how long a library's call takes; all within the context ---- */

enum { CUDA_TRIAL_BUFFERS = 6 };

typedef struct cuda_trial {
  dev_device *device;
  cu_address memory;
  cu_event start, end;
  void *buffers[CUDA_TRIAL_BUFFERS]; /* of the sizes asked for; their contents are anything */
} cuda_trial;
/* False: there is no memory for it, and nothing is measured. cuda_trial_end in any case. */
bool cuda_trial_begin(dev_device *d, const size_t *bytes, int n, cuda_trial *out);
void cuda_trial_end(cuda_trial *t);
/* Milliseconds of |call|, which puts work on device->copies; below 0: it fails. */
float cuda_trial_run(const cuda_trial *t, int (*call)(const cuda_trial *t, const void *what), const void *what);

/* ---- cuda_gemm.c, cuda_conv.c, cuda_workspace.c ---- */

ox_status *cuda_gemm_takes(dev_device *d, const dev_gemm *g, bool *out_taken);
ox_status *cuda_gemm(dev_queue *q, const dev_gemm *g);
/* For cuda_conv.c, within the context and with the libraries' lock: cuda_gemm_takes and cuda_gemm without either, and
 * the milliseconds of a product without |after| that is taken (below 0: it cannot be measured). */
OX_NODISCARD ox_status *cuda_gemm_prepare(dev_device *d, const dev_gemm *g, bool *out_taken);
int cuda_gemm_put(dev_device *d, const dev_gemm *g, void *workspace, size_t bytes, cu_stream stream, bool *out_prepared);
float cuda_gemm_ms(dev_device *d, const dev_gemm *g);
void cuda_gemm_release(dev_device *d); /* plans and handle, within the context */
ox_status *cuda_conv_takes(dev_device *d, const dev_conv *c, bool *out_taken);
ox_status *cuda_conv(dev_queue *q, const dev_conv *c);
void cuda_conv_release(dev_device *d);
/* Memory for all that has been prepared, for the queue's next call. */
OX_NODISCARD ox_status *cuda_workspace(dev_queue *q, void **out, size_t *out_bytes);
/* FNV-1a over a shape that has no padding. */
uint32_t cuda_bucket(const void *shape, size_t bytes);

#endif
