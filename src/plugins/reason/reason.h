/* SPDX-License-Identifier: Apache-2.0
 * plugins/reason/reason.h - why a provider declines a node, in one form for all providers: what it wants, and what the
 * node has. `onyx info --plan` shows it, and the log at level debug. */
#ifndef OX_PLUGIN_REASON_H
#define OX_PLUGIN_REASON_H

#include "onyx/ep.h"

/* A reason, as a literal. |want| follows "wants", and ends, in parentheses, with the cause where that is not plain. In
 * |has| a name in braces stands for something of the node:
 *   {0}, {1} ...  an input: constant or not, name, type, shape     {inputs}  all of them     {>0}  an output
 *   {axis}        an attribute; {axis=-1}: its default, which is shown where the node leaves it out
 *   {op}          the operator with its domain and opset */
#define REASON(want, has) "wants " want "; has " has

enum { REASON_ROOM = 512 };

/* Fills in |text| for the node; the result is |out|, cut where it is longer than that. */
const char *reason_of(const ox_ep_host *h, const ox_graph_view *g, size_t node, const char *text,
                      char out[REASON_ROOM]);

#endif
