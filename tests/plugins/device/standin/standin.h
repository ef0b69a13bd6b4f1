/* SPDX-License-Identifier: Apache-2.0
 * plugins/device/standin/standin.h - a library in the place of libcuda and libnvrtc: a device made of threads. A stream
 * is a thread that does its work in order and later; kernels are the plain-C build of the same sources; what a device
 * address points to lies elsewhere, so that a host that follows one faults. Calls fail on request. */
#ifndef OX_TESTS_STANDIN_H
#define OX_TESTS_STANDIN_H

#include <pthread.h>
#include <stdbool.h>

#include "plugins/cuda/cuda_api.h"

#define STANDIN_API __attribute__((visibility("default")))

/* ---- control, for tests (dlsym) ---- */

/* The call with this number from now on, from 0, and all later ones fail with |code|; -1: none. Releases are not
 * counted. */
STANDIN_API void standin_fail_at(long call, int code);
STANDIN_API void standin_fail_once(long call, int code); /* that call alone */
STANDIN_API long standin_calls(void);                    /* since one of the two was called */
STANDIN_API void standin_idle(int idle);                 /* the libraries compute nothing, for tests of what fails */
STANDIN_API long standin_live(void);          /* objects that nobody has released */
STANDIN_API void standin_limit(size_t bytes); /* of device memory */
STANDIN_API long standin_allocations(void);   /* of device memory, since it was last asked */
/* Copies of the host's bytes (0: to the device, 1: back) and within the device (2), those of graphs too, since it was
 * last asked for these. */
STANDIN_API long standin_copies(int way);
STANDIN_API void standin_lose(int code);      /* every call from now on fails so, and no work is done; 0: found again */
STANDIN_API void standin_sm(int sm);          /* 90: compute capability 9.0; the compiler knows up to 90 */
STANDIN_API int standin_depth(void);          /* contexts that the calling thread has pushed and not popped */

/* ---- within ---- */

enum {
  OK = 0,
  INVALID_VALUE = 1,
  NOT_INITIALIZED = 3,
  INVALID_DEVICE = 101,
  INVALID_IMAGE = 200,
  INVALID_CONTEXT = 201,
  INVALID_HANDLE = 400,
  ILLEGAL_ADDRESS = 700,
  CAPTURE_UNSUPPORTED = 900,
  CAPTURE_INVALIDATED = 901
};

extern pthread_mutex_t standin_lock; /* of all there is */
extern pthread_cond_t standin_changed;

/* The start of every call: OK, or what it fails with. |with_context|: it needs one. */
int standin_gate(bool with_context);
bool standin_is_idle(void);
int standin_lost(void); /* OK, or what every call fails with */
void standin_made(long n);
/* A library's object of |bytes|, zeroed and counted; OK, or what the call fails with. And its end. */
int standin_make(void **out, size_t bytes);
int standin_drop(void *object);

/* One group; see device/kernels/dialect.h. */
typedef void standin_kernel(char *const *buffers, const void *params, const int *place);

/* A piece of work. */
typedef struct standin_op {
  struct standin_op *next;
  enum { OP_LAUNCH, OP_TO_DEVICE, OP_TO_HOST, OP_WITHIN, OP_EVENT, OP_GRAPH, OP_CALL } kind;
  standin_kernel *kernel;
  int groups[3];
  cu_address buffers[8];
  char params[1024];
  cu_address to, from;
  void *host; /* of a copy; owned if |owned| */
  bool owned;
  size_t bytes;
  cu_event event;
  uint64_t ticket; /* of the event */
  cu_graph_exec exec;
  int (*call)(void *arg); /* a library's: on the stream's thread; OK, or the device is lost */
  char arg[256];
} standin_op;

/* Puts a copy of |op| on the stream, or into its graph. */
int standin_put(cu_stream stream, const standin_op *op);
bool standin_is_capturing(cu_stream stream);
void standin_drain(cu_stream stream); /* with the lock held; NULL: all streams */

/* Where the bytes at a device address lie; NULL: not |bytes| of one allocation. Takes the lock. */
char *standin_at(cu_address address, size_t bytes);
/* Where |address| lies, and no matter how much of it. */
char *standin_begin(cu_address address);
bool standin_is_pinned(const void *p);

#endif
