/* SPDX-License-Identifier: Apache-2.0
 * support/echo_ep.h - a provider that claims what its options say (support/claim_rule.h) and computes it as the CPU
 * provider does: kernels are the CPU's, programs are plans of their own (support/part_program.h). Its calls are counted
 * and fail on request (support/ep_watch.h). */
#ifndef OX_TESTS_ECHO_EP_H
#define OX_TESTS_ECHO_EP_H

#include "onyx/ep.h"

/* Named "echo"; it saves programs. Tests may change a copy of the table. */
const ox_ep_api *echo_ep(void);

#endif
