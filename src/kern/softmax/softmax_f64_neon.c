/* SPDX-License-Identifier: Apache-2.0
 * kern/softmax/softmax_f64_neon.c - softmax_f64_body.h on this instruction set. */
#define SOFTMAX_F64_NAME ox_softmax_f64__neon
#include "kern/softmax/softmax_f64_body.h"
