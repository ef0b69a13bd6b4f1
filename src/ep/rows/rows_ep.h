/* SPDX-License-Identifier: Apache-2.0
 * ep/rows/rows_ep.h - a provider whose kernels are the rows of a table of operators (onyx/op.h): the CPU's, and that of
 * custom operators. */
#ifndef OX_EP_ROWS_H
#define OX_EP_ROWS_H

#include <stdbool.h>

#include "base/cpu.h"
#include "graph/registry.h"

/* Serves |ops| (borrowed) but for the rows that are in |but| (NULL: all), with kernels for |isa|. */
OX_NODISCARD ox_status *ox_rows_ep_create(const ox_ep_host *host, const ox_registry *ops, const ox_registry *but,
                                          ox_isa isa, ox_ep **out_ep);

/* Before any kernel: what they are told as ox_load_ctx.exact. */
void ox_rows_ep_set_exact(ox_ep *ep, bool exact);
/* Its kernels ask a table of measurements (base/tune.h), which is the provider's from now on. Before any kernel. */
OX_NODISCARD ox_status *ox_rows_ep_tune(ox_ep *ep, const char *path, bool measures);

/* The calls of such a provider, for its table. claim takes what has a kernel, and views. */
void ox_rows_ep_destroy(ox_ep *ep);
ox_status *ox_rows_ep_claim(ox_ep *ep, const ox_graph_view *g, ox_claims *claims);
ox_status *ox_rows_ep_kernel_create(ox_ep *ep, const ox_graph_view *g, size_t node, ox_kernel **out_kernel);

/* |st| as the host makes it: a plug-in has a copy of this code, and its statuses are its own. */
ox_status *ox_ep_pass_status(const ox_ep_host *host, ox_status *st);

#endif
