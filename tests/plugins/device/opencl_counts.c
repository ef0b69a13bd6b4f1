/* SPDX-License-Identifier: Apache-2.0
 * plugins/device/opencl_counts.c - a library that is found before OpenCL's and counts what a process copies and
 * allocates: opencl_copies(0) to the device, (1) back, (2) within it, opencl_allocations(), since the last call for it.
 */
#define _GNU_SOURCE /* RTLD_NEXT */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

#define COUNTS_API __attribute__((visibility("default")))

static atomic_long copies[3], allocations;

COUNTS_API long opencl_copies(int way);
long opencl_copies(int way) { return atomic_exchange(&copies[way], 0); }
COUNTS_API long opencl_allocations(void);
long opencl_allocations(void) { return atomic_exchange(&allocations, 0); }

/* The function of that name behind this one. */
#define FORWARD(count, type, fn, parameters, arguments) \
  COUNTS_API type fn parameters {                       \
    static type(*next) parameters;                      \
    if (!next) {                                        \
      void *found = dlsym(RTLD_NEXT, #fn);              \
      memcpy(&next, &found, sizeof next);               \
    }                                                   \
    atomic_fetch_add(&(count), 1);                      \
    return next arguments;                              \
  }

FORWARD(allocations, cl_mem, clCreateBuffer, (cl_context c, cl_mem_flags f, size_t n, void *p, cl_int *code),
        (c, f, n, p, code))
FORWARD(copies[0], cl_int, clEnqueueWriteBuffer,
        (cl_command_queue q, cl_mem m, cl_bool block, size_t at, size_t n, const void *p, cl_uint n_wait,
         const cl_event *wait, cl_event *event),
        (q, m, block, at, n, p, n_wait, wait, event))
FORWARD(copies[1], cl_int, clEnqueueReadBuffer,
        (cl_command_queue q, cl_mem m, cl_bool block, size_t at, size_t n, void *p, cl_uint n_wait,
         const cl_event *wait, cl_event *event),
        (q, m, block, at, n, p, n_wait, wait, event))
FORWARD(copies[2], cl_int, clEnqueueCopyBuffer,
        (cl_command_queue q, cl_mem from, cl_mem to, size_t a, size_t b, size_t n, cl_uint n_wait, const cl_event *wait,
         cl_event *event),
        (q, from, to, a, b, n, n_wait, wait, event))
