/* SPDX-License-Identifier: Apache-2.0
 * plugins/device/opencl_faults.c - stands between the OpenCL driver and OpenCL (the linker's --wrap): calls fail on
 * request, objects are counted. Questions for the size of an answer count as calls, releases do not fail. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdatomic.h>

#include "plugins/device/rig.h"

static atomic_long calls, live, fail_call = -1;
static atomic_int fail_code;

static void fail_at(long call, int code) {
  atomic_store(&calls, 0);
  atomic_store(&fail_code, code);
  atomic_store(&fail_call, call);
}

static long live_objects(void) { return atomic_load(&live); }

static bool fails(void) {
  long call = atomic_fetch_add(&calls, 1), at = atomic_load(&fail_call);
  return at >= 0 && call >= at;
}

/* A function that returns its code: parameters, and the same as arguments. */
#define CODE(fn, parameters, arguments)          \
  cl_int __real_##fn parameters;                 \
  cl_int __wrap_##fn parameters;                 \
  cl_int __wrap_##fn parameters {                \
    if (fails()) return atomic_load(&fail_code); \
    return __real_##fn arguments;                \
  }
/* A function that makes an object. */
#define MAKE(type, fn, parameters, arguments)                  \
  type __real_##fn parameters;                                 \
  type __wrap_##fn parameters;                                 \
  type __wrap_##fn parameters {                                \
    if (fails()) return *code = atomic_load(&fail_code), NULL; \
    type made = __real_##fn arguments;                         \
    if (made) atomic_fetch_add(&live, 1);                      \
    return made;                                               \
  }
#define DROP(type, fn)              \
  cl_int __real_##fn(type object);  \
  cl_int __wrap_##fn(type object);  \
  cl_int __wrap_##fn(type object) { \
    atomic_fetch_sub(&live, 1);     \
    return __real_##fn(object);     \
  }
/* A command, with the event that it may make. */
#define COMMAND(fn, parameters, arguments)                         \
  cl_int __real_##fn parameters;                                   \
  cl_int __wrap_##fn parameters;                                   \
  cl_int __wrap_##fn parameters {                                  \
    if (fails()) return atomic_load(&fail_code);                   \
    cl_int result = __real_##fn arguments;                         \
    if (result == CL_SUCCESS && event) atomic_fetch_add(&live, 1); \
    return result;                                                 \
  }

CODE(clGetPlatformIDs, (cl_uint n, cl_platform_id *out, cl_uint *found), (n, out, found))
CODE(clGetPlatformInfo, (cl_platform_id p, cl_platform_info i, size_t n, void *out, size_t *size), (p, i, n, out, size))
CODE(clGetDeviceIDs, (cl_platform_id p, cl_device_type t, cl_uint n, cl_device_id *out, cl_uint *found),
     (p, t, n, out, found))
CODE(clGetDeviceInfo, (cl_device_id d, cl_device_info i, size_t n, void *out, size_t *size), (d, i, n, out, size))
CODE(clBuildProgram,
     (cl_program p, cl_uint n, const cl_device_id *d, const char *flags, void(CL_CALLBACK *f)(cl_program, void *),
      void *u),
     (p, n, d, flags, f, u))
CODE(clGetProgramInfo, (cl_program p, cl_program_info i, size_t n, void *out, size_t *size), (p, i, n, out, size))
CODE(clGetProgramBuildInfo, (cl_program p, cl_device_id d, cl_program_build_info i, size_t n, void *out, size_t *size),
     (p, d, i, n, out, size))
CODE(clSetKernelArg, (cl_kernel k, cl_uint i, size_t n, const void *value), (k, i, n, value))
CODE(clFinish, (cl_command_queue q), (q))
CODE(clFlush, (cl_command_queue q), (q))
CODE(clWaitForEvents, (cl_uint n, const cl_event *e), (n, e))
cl_int __real_clRetainEvent(cl_event e);
cl_int __wrap_clRetainEvent(cl_event e);
cl_int __wrap_clRetainEvent(cl_event e) {
  if (fails()) return atomic_load(&fail_code);
  atomic_fetch_add(&live, 1);
  return __real_clRetainEvent(e);
}
MAKE(cl_context, clCreateContext,
     (const cl_context_properties *p, cl_uint n, const cl_device_id *d,
      void(CL_CALLBACK *f)(const char *, const void *, size_t, void *), void *u, cl_int *code),
     (p, n, d, f, u, code))
MAKE(cl_command_queue, clCreateCommandQueue,
     (cl_context c, cl_device_id d, cl_command_queue_properties p, cl_int *code), (c, d, p, code))
MAKE(cl_mem, clCreateBuffer, (cl_context c, cl_mem_flags f, size_t n, void *p, cl_int *code), (c, f, n, p, code))
MAKE(cl_program, clCreateProgramWithSource,
     (cl_context c, cl_uint n, const char **text, const size_t *sizes, cl_int *code), (c, n, text, sizes, code))
MAKE(cl_program, clCreateProgramWithBinary,
     (cl_context c, cl_uint n, const cl_device_id *d, const size_t *sizes, const unsigned char **bytes, cl_int *fits,
      cl_int *code),
     (c, n, d, sizes, bytes, fits, code))
MAKE(cl_kernel, clCreateKernel, (cl_program p, const char *name, cl_int *code), (p, name, code))
DROP(cl_context, clReleaseContext)
DROP(cl_command_queue, clReleaseCommandQueue)
DROP(cl_mem, clReleaseMemObject)
DROP(cl_program, clReleaseProgram)
DROP(cl_kernel, clReleaseKernel)
DROP(cl_event, clReleaseEvent)
COMMAND(clEnqueueNDRangeKernel,
        (cl_command_queue q, cl_kernel k, cl_uint n, const size_t *at, const size_t *global, const size_t *local,
         cl_uint n_wait, const cl_event *wait, cl_event *event),
        (q, k, n, at, global, local, n_wait, wait, event))
COMMAND(clEnqueueCopyBuffer,
        (cl_command_queue q, cl_mem from, cl_mem to, size_t a, size_t b, size_t n, cl_uint n_wait, const cl_event *wait,
         cl_event *event),
        (q, from, to, a, b, n, n_wait, wait, event))
COMMAND(clEnqueueWriteBuffer,
        (cl_command_queue q, cl_mem m, cl_bool block, size_t at, size_t n, const void *p, cl_uint n_wait,
         const cl_event *wait, cl_event *event),
        (q, m, block, at, n, p, n_wait, wait, event))
COMMAND(clEnqueueReadBuffer,
        (cl_command_queue q, cl_mem m, cl_bool block, size_t at, size_t n, void *p, cl_uint n_wait,
         const cl_event *wait, cl_event *event),
        (q, m, block, at, n, p, n_wait, wait, event))
COMMAND(clEnqueueMarkerWithWaitList, (cl_command_queue q, cl_uint n_wait, const cl_event *wait, cl_event *event),
        (q, n_wait, wait, event))

extern const dev_driver dev_opencl_driver;
static const int codes[] = {CL_OUT_OF_RESOURCES, CL_OUT_OF_HOST_MEMORY, CL_MEM_OBJECT_ALLOCATION_FAILURE, 0};
const rig_driver rig_opencl = {.driver = &dev_opencl_driver, .fail_at = fail_at, .live = live_objects, .codes = codes};
