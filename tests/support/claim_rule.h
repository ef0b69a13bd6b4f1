/* SPDX-License-Identifier: Apache-2.0
 * support/claim_rule.h - which nodes a provider of the tests claims, by its options: the same options claim the same.
 */
#ifndef OX_TESTS_CLAIM_RULE_H
#define OX_TESTS_CLAIM_RULE_H

#include <stdbool.h>

#include "onyx/ep.h"

typedef enum claim_pick {
  PICK_ALL,
  PICK_NONE,
  PICK_BUT_ONE, /* all but the one that the seed names */
  PICK_SECOND,
  PICK_RANDOM,
  PICK_PARTS /* random groups through claim_part */
} claim_pick;
typedef enum claim_as { AS_KERNELS, AS_PROGRAMS, AS_EITHER } claim_as;

typedef struct claim_rule {
  claim_pick pick;
  claim_as as;
  uint32_t seed;
  char ops[128];  /* "|Conv|Relu|": only these; "": any */
  bool no_bodies; /* leave operators with bodies to the host */
} claim_rule;

/* claims=all|none|but_one|second|random|parts as=kernels|programs|either seed=N ops=Conv|Relu no_bodies=0|1 */
enum { CLAIM_RULE_OPTIONS = 5 };
extern const ox_option_def claim_rule_options[CLAIM_RULE_OPTIONS];
void claim_rule_read(claim_rule *r, const ox_options *o);

/* Claims by |r| what the CPU provider could run and |able| (NULL: everything) accepts. */
ox_status *claim_rule_apply(const claim_rule *r, const ox_ep_host *h, const ox_graph_view *g, ox_claims *claims,
                            bool (*able)(const ox_ep_host *h, const ox_graph_view *g, size_t node));

/* The CPU has a kernel for the node, or, if |bodies|, it walks through its bodies. */
bool claim_rule_cpu_has(const ox_ep_host *h, const ox_graph_view *g, size_t node, bool bodies);
/* All inputs and outputs are tensors of numbers, as far as the graph says. */
bool claim_rule_all_numbers(const ox_ep_host *h, const ox_graph_view *g, size_t node);

#endif
