/* SPDX-License-Identifier: Apache-2.0
 * device/tail.h - element-wise operators as steps of kernels/tail_params.h. */
#ifndef OX_DEVICE_TAIL_H
#define OX_DEVICE_TAIL_H

#include "plugins/device/op.h"

/* The operators that can be a step, NULL at the end. */
extern const char *const dev_tail_ops[];

/* |n| as a step from its input |value|. |*out_operand|: the input that is no constant number, UINT32_MAX if there is
 * none; then div and mod are not set yet. False: it has no such input, or attributes that only a run knows. */
bool dev_tail_step(const dev_node *n, uint32_t value, tail_step *out, uint32_t *out_operand);
/* Appends the activation that attributes of |n|, of com.microsoft, name; false: no step does that. None is fine. */
bool dev_tail_activation(const dev_node *n, dev_tail *t);
/* Sets |div| and |mod| so that an operand of shape |o| is broadcast to |y|; false: that takes more than these two. */
bool dev_tail_place(const ox_shape *o, const ox_shape *y, tail_step *s);
/* As dev_take_tail, with the node itself as the first step. */
OX_NODISCARD ox_status *dev_take_tail_after(dev_plan *p, const dev_node *n, const tail_step *first, uint32_t operand,
                                            dev_tail *out);

/* |value|, made by |head|, is read by |*out| alone. */
bool dev_only_reader(const dev_plan *p, const dev_node *head, uint32_t value, dev_node *out);

#endif
