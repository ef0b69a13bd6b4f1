/* SPDX-License-Identifier: Apache-2.0
 * opencl/opencl_status.c - converts OpenCL's error codes to statuses. */
#include "plugins/opencl/opencl.h"

static const struct {
  cl_int code;
  const char *name;
} names[] = {
#define ROW(name) \
  { name, #name }
    ROW(CL_DEVICE_NOT_FOUND),
    ROW(CL_DEVICE_NOT_AVAILABLE),
    ROW(CL_COMPILER_NOT_AVAILABLE),
    ROW(CL_MEM_OBJECT_ALLOCATION_FAILURE),
    ROW(CL_OUT_OF_RESOURCES),
    ROW(CL_OUT_OF_HOST_MEMORY),
    ROW(CL_PROFILING_INFO_NOT_AVAILABLE),
    ROW(CL_MEM_COPY_OVERLAP),
    ROW(CL_BUILD_PROGRAM_FAILURE),
    ROW(CL_MAP_FAILURE),
    ROW(CL_MISALIGNED_SUB_BUFFER_OFFSET),
    ROW(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST),
    ROW(CL_COMPILE_PROGRAM_FAILURE),
    ROW(CL_LINKER_NOT_AVAILABLE),
    ROW(CL_LINK_PROGRAM_FAILURE),
    ROW(CL_INVALID_VALUE),
    ROW(CL_INVALID_DEVICE_TYPE),
    ROW(CL_INVALID_PLATFORM),
    ROW(CL_INVALID_DEVICE),
    ROW(CL_INVALID_CONTEXT),
    ROW(CL_INVALID_QUEUE_PROPERTIES),
    ROW(CL_INVALID_COMMAND_QUEUE),
    ROW(CL_INVALID_HOST_PTR),
    ROW(CL_INVALID_MEM_OBJECT),
    ROW(CL_INVALID_BINARY),
    ROW(CL_INVALID_BUILD_OPTIONS),
    ROW(CL_INVALID_PROGRAM),
    ROW(CL_INVALID_PROGRAM_EXECUTABLE),
    ROW(CL_INVALID_KERNEL_NAME),
    ROW(CL_INVALID_KERNEL_DEFINITION),
    ROW(CL_INVALID_KERNEL),
    ROW(CL_INVALID_ARG_INDEX),
    ROW(CL_INVALID_ARG_VALUE),
    ROW(CL_INVALID_ARG_SIZE),
    ROW(CL_INVALID_KERNEL_ARGS),
    ROW(CL_INVALID_WORK_DIMENSION),
    ROW(CL_INVALID_WORK_GROUP_SIZE),
    ROW(CL_INVALID_WORK_ITEM_SIZE),
    ROW(CL_INVALID_GLOBAL_OFFSET),
    ROW(CL_INVALID_EVENT_WAIT_LIST),
    ROW(CL_INVALID_EVENT),
    ROW(CL_INVALID_OPERATION),
    ROW(CL_INVALID_BUFFER_SIZE),
    ROW(CL_INVALID_GLOBAL_WORK_SIZE),
    ROW(CL_INVALID_PROPERTY),
    ROW(CL_INVALID_COMPILER_OPTIONS),
    ROW(CL_INVALID_LINKER_OPTIONS),
#undef ROW
    {-1001, "CL_PLATFORM_NOT_FOUND_KHR"},
};

ox_status *opencl_fail(const ox_ep_host *host, const char *call, cl_int code) {
  const char *name = "unknown code";
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (names[i].code == code) name = names[i].name;
  bool memory = code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_HOST_MEMORY ||
                code == CL_INVALID_BUFFER_SIZE; /* more than a buffer can have */
  return dev_fail(host, memory ? OX_OUT_OF_MEMORY : OX_FAIL, "OpenCL: %s: %s (%d)", call, name, (int)code);
}
