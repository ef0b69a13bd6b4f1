/* SPDX-License-Identifier: Apache-2.0
 * plan/transfers.h - memories of devices: which value lies where, and copies where readers want it elsewhere. */
#ifndef OX_PLAN_TRANSFERS_H
#define OX_PLAN_TRANSFERS_H

#include "plan/provider.h"

/* A node that copies its input into its output's memory; its owner is the provider whose memory it is. */
#define OX_COPY_OP "Copy"

bool ox_node_is_copy(const ox_node *n);

/* Memories in ox_graph_value.memory: 0 is the host's, others name a provider and one of its memories. */
static inline uint32_t ox_memory_of(uint16_t owner, uint32_t memory) {
  return memory ? (uint32_t)owner << 8 | memory : 0;
}
static inline uint16_t ox_memory_owner(uint32_t id) { return (uint16_t)(id >> 8); }
static inline uint32_t ox_memory_index(uint32_t id) { return id & 0xff; }

/* What the model calls value |v| or, of a copy, what it is a copy of. */
const char *ox_transfer_name(const ox_graph *g, ox_id v);

/* Whether the host can read what lies there. */
bool ox_host_reads(const ox_provider *providers, uint32_t memory);

/* Sets the memory of every value of |m| and adds copies. A view's output lies where its input does. Inputs and outputs
 * of a graph lie in host memory, and so does what a body reads or makes, except in If: its branches read values where
 * they lie and leave their outputs there, if both use the same memory. Constants that a device reads are copied once,
 * when the plan is made. Does nothing if no provider has memories. Errors: INVALID_ARGUMENT if a provider names a
 * memory that it does not have. */
OX_NODISCARD ox_status *ox_transfers_add(ox_model *m, const ox_provider *providers, size_t n);

/* The memory that node |id| of |g| wants input |slot| in, or leaves output |slot| in. */
OX_NODISCARD ox_status *ox_transfer_memory(const ox_graph *g, ox_id id, int output, uint32_t slot,
                                           const ox_provider *providers, size_t n, uint32_t *out_memory);

#endif
