/* SPDX-License-Identifier: Apache-2.0
 * support/part_program.h - a part of a graph as a program: a plan in which the CPU provider owns every node. */
#ifndef OX_TESTS_PART_PROGRAM_H
#define OX_TESTS_PART_PROGRAM_H

#include "onyx/ep.h"

typedef struct part_program part_program;

/* |part| and |host| must outlive it. Memory comes from the host's allocator. */
OX_NODISCARD ox_status *part_program_create(const ox_ep_host *host, const ox_graph_view *part,
                                            part_program **out_program);
void part_program_destroy(part_program *p); /* NULL is fine */
/* In the calling thread; many threads at a time. Outputs go to io->out, through io->alloc_output where they have no
 * memory yet. A repeated run allocates nothing. */
OX_NODISCARD ox_status *part_program_run(part_program *p, const ox_io *io);

#endif
