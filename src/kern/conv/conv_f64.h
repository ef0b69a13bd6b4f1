/* SPDX-License-Identifier: Apache-2.0
 * kern/conv/conv_f64.h - convolution in double precision. */
#ifndef OX_KERN_CONV_CONV_F64_H
#define OX_KERN_CONV_CONV_F64_H

#include "kern/conv/conv.h"

/* Output planes [begin, end) of batch * groups * oc. w: [group][oc][k]; bias may be NULL. */
void ox_conv_f64(const ox_conv_geom *g, const double *x, const double *w, const double *bias, double *y, int64_t begin,
                 int64_t end);

#endif
