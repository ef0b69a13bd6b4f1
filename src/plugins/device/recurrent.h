/* SPDX-License-Identifier: Apache-2.0
 * device/recurrent.h - what recurrent cells of floats (ops/recurrent.c) and of bytes (ops/recurrent_bytes.c) share. */
#ifndef OX_DEVICE_RECURRENT_H
#define OX_DEVICE_RECURRENT_H

#include "plugins/device/emit.h"
#include "plugins/device/kernels/recurrent_params.h"

typedef enum dev_recurrent_in {
  DEV_RECURRENT_X,
  DEV_RECURRENT_W,
  DEV_RECURRENT_R,
  DEV_RECURRENT_B,
  DEV_RECURRENT_LENS,
  DEV_RECURRENT_H,
  DEV_RECURRENT_C,
  DEV_RECURRENT_P
} dev_recurrent_in;

bool dev_recurrent_has(const dev_node *n, size_t i);
uint32_t dev_recurrent_in_of(const dev_node *n, size_t i);  /* UINT32_MAX: there is none */
uint32_t dev_recurrent_out_of(const dev_node *n, size_t i); /* likewise */
/* Reads the attributes, that is, all of |out| but sizes. False: unsupported activations, or a wrong number of them. */
bool dev_recurrent_read(const dev_node *n, int cell, recurrent_params *out);
/* Do X, B and the inputs after it have the sizes in |q|, and do the gates of all steps fit the kernels' int indices? */
bool dev_recurrent_fits(const dev_plan *p, const dev_node *n, const recurrent_params *q);
/* |begin|: copies the initial states to |state|; else the final states from there to the outputs. */
OX_NODISCARD ox_status *dev_recurrent_ends(dev_plan *p, const dev_node *n, recurrent_params q, bool begin,
                                           dev_ref state);

#endif
