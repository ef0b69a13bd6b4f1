/* SPDX-License-Identifier: Apache-2.0
 * opencl/opencl_driver.c - opening and closing a device, and the driver's table. */
#include "plugins/opencl/opencl.h"

static void close_device(dev_device *d) {
  if (!d) return;
  if (d->copies) clReleaseCommandQueue(d->copies);
  opencl_space_leave(d->space);
  ox_ep_host host = d->host;
  dev_drop(&host, d, sizeof *d);
}

static ox_status *open_contents(dev_device *d, const ox_options *options) {
  cl_int code;
  ox_status *st = opencl_choose(&d->host, options, &d->id);
  if (!st) st = opencl_describe(&d->host, d->id, &d->info, d->flags, sizeof d->flags);
  if (!st) st = opencl_space_join(&d->host, d->id, &d->space);
  if (st) return st;
  d->context = d->space->context;
  d->info.space = (uint64_t)(uintptr_t)d->space;
  d->copies = clCreateCommandQueue(d->context, d->id, 0, &code);
  return code == CL_SUCCESS ? NULL : opencl_fail(&d->host, "clCreateCommandQueue", code);
}

static ox_status *open_device(const ox_ep_host *host, const ox_options *options, dev_device **out_device) {
  *out_device = NULL;
  dev_device *d = dev_new(host, sizeof *d);
  if (!d) return dev_no_memory(host);
  d->host = *host;
  ox_status *st = open_contents(d, options);
  if (st)
    close_device(d);
  else
    *out_device = d;
  return st;
}

static const dev_info *info(const dev_device *d) { return &d->info; }

const dev_driver dev_the_driver = {
    .name = "opencl",
    .options = opencl_options,
    .n_options = OPENCL_OPTIONS,
    .open = open_device,
    .close = close_device,
    .info = info,
    .alloc = opencl_alloc,
    .free = opencl_free,
    .build = opencl_build,
    .module_release = opencl_module_release,
    .module_binary = opencl_module_binary,
    .keeps_builds = true,
    .kernel = opencl_kernel,
    .queue_create = opencl_queue_create,
    .queue_release = opencl_queue_release,
    .queue_sync = opencl_queue_sync,
    .launch = opencl_launch,
    .copy = opencl_copy,
    .event_create = opencl_event_create,
    .event_release = opencl_event_release,
    .event_record = opencl_event_record,
    .event_sync = opencl_event_sync,
    .record_begin = opencl_record_begin,
    .record_end = opencl_record_end,
    .record_launch = opencl_record_launch,
    .record_release = opencl_record_release,
};
