/* SPDX-License-Identifier: Apache-2.0
 * support/device_work.h - work of a pretend device: kernels of the CPU provider and plans of parts, on the device's own
 * addresses, on a stream or at once. */
#ifndef OX_TESTS_DEVICE_WORK_H
#define OX_TESTS_DEVICE_WORK_H

#include "support/device_stream.h"
#include "support/part_program.h"

/* Wraps |cpu|, a kernel for node |node| of |g|. */
ox_status *device_kernel_create(const ox_ep_host *host, const ox_graph_view *g, size_t node, ox_kernel *cpu,
                                ox_kernel **out_kernel);

/* |p| on |io|: on its stream, or at once where the host has to learn the shapes of outputs. */
ox_status *device_program_run(const ox_ep_host *host, part_program *p, const ox_io *io);

/* |stream| NULL: at once. */
ox_status *device_copy(const ox_ep_host *host, void *to, const void *from, size_t bytes, device_stream *stream);

#endif
