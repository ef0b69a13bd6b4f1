/* SPDX-License-Identifier: Apache-2.0
 * device/tail.h - element-wise operators as steps of kernels/tail_params.h. */
#ifndef OX_DEVICE_TAIL_H
#define OX_DEVICE_TAIL_H

#include "plugins/device/op.h"

/* The operators that can be a step; NULL-terminated. */
extern const char *const dev_tail_ops[];

/* Converts |n| to a step applied to its input |value|. |*out_operand| is the other input unless it is a constant number
 * (then UINT32_MAX); the step's div and mod remain to be set (dev_tail_place). False: |n| is no such operator, or has
 * parameters that only a run knows. */
bool dev_tail_step(const dev_node *n, uint32_t value, tail_step *out, uint32_t *out_operand);
/* Appends the activation named by attributes of |n|, a com.microsoft operator; false: there is no step for it. An
 * absent attribute appends nothing. */
bool dev_tail_activation(const dev_node *n, dev_tail *t);
/* Sets |div| and |mod| so that an operand of shape |o| is broadcast to |y|; false: these two cannot express it. */
bool dev_tail_place(const ox_shape *o, const ox_shape *y, tail_step *s);
/* As dev_take_tail, with the node itself as the first step. */
OX_NODISCARD ox_status *dev_take_tail_after(dev_plan *p, const dev_node *n, const tail_step *first, uint32_t operand,
                                            dev_tail *out);

/* Finds the only reader of |value|, which |head| makes; false: there are others, or none. */
bool dev_only_reader(const dev_plan *p, const dev_node *head, uint32_t value, dev_node *out);

#endif
