/* SPDX-License-Identifier: Apache-2.0
 * exec/stretch.h - a stretch: steps in a row, each too small for more than one thread, that do not all wait for each
 * other. They can run apart: as a task graph, so that threads take different branches.
 *
 * Which of them then run at once, and which is the last to read a value, is known to no one before. So no two values
 * that a stretch writes or reads share memory, each step has scratch of its own, and an output overwrites an input only
 * if no other step can read that (lifetimes.c): every order that keeps to the graph's edges is right. This takes more
 * memory than the list, and memory that is not in the cache costs more than is won where nobody helps. So both plans
 * are there, in one slab, and a run takes one: if it follows the last one soon, for then threads are awake, the way that
 * was faster lately (two_ways.h), else the list. Runs that profile, can be cancelled or are to pack take the list. */
#ifndef OX_EXEC_STRETCH_H
#define OX_EXEC_STRETCH_H

#include "exec/context_state.h"

/* Finds the stretches that are worth it, once all steps are settled and the list has its plan; makes c->values_bytes
 * large enough for both plans. The choice depends on shapes, kernels and the number of threads, not on a clock, so the
 * workspace is always the same. */
OX_NODISCARD ox_status *ox_stretches_find(ox_context *c);
/* The bytes that scratch and shared memory of one stretch's steps need side by side. */
size_t ox_stretches_area(const ox_context *c);
/* Places what lies in the slab, after that has moved. */
void ox_stretches_place(ox_context *c);
/* Makes the graphs, once there is a slab. */
OX_NODISCARD ox_status *ox_stretches_link(ox_context *c);
void ox_stretches_release(ox_context *c);

/* For a context with stretches, at the beginning of a run: whether it runs them apart; and at its end. */
bool ox_stretches_begin(ox_context *c);
void ox_stretches_end(ox_context *c);
/* Runs a stretch apart. Errors have the node's name. */
OX_NODISCARD ox_status *ox_stretch_run(ox_context *c, const ox_stretch *t);

#endif
