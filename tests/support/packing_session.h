/* SPDX-License-Identifier: Apache-2.0
 * support/packing_session.h - sessions of an operator that packs a constant, me.Packs (x, w): y has the type of x, w is
 * consumed, and the test writes the kernel. All allocations are counted. */
#ifndef OX_TESTS_PACKING_SESSION_H
#define OX_TESTS_PACKING_SESSION_H

#include "graph/op_def.h"
#include "onyx/onyx.h"
#include "support/counting_alloc.h"

enum { PACKING_X, PACKING_W };

typedef struct packing_session {
  counting_alloc count;
  ox_op op;
  ox_schema schema;
  ox_kernel_def kernel;
  ox_env *env;
  ox_session *s;
} packing_session;

typedef struct packing_kernel {
  ox_status *(*prepare)(ox_kernel_ctx *c);
  ox_status *(*run)(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch);
  void *state; /* of the kernel */
} packing_kernel;

/* Of the model |text|, which imports version 1 of the domain "me", on three threads. |rules|: NULL, or more rules. */
void packing_session_open(packing_session *p, const char *text, packing_kernel kernel, const ox_rule_set *rules);
/* Fails the test if anything stays allocated. */
void packing_session_close(packing_session *p);
/* Runs on |n| ones, which are not counted; *out_y is the caller's to release, and NULL after an error. |cancel|: NULL,
 * or a flag. */
OX_NODISCARD ox_status *packing_session_run(packing_session *p, int64_t n, const int *cancel, ox_value **out_y);

#endif
