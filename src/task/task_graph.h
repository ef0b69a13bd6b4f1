/* SPDX-License-Identifier: Apache-2.0
 * task/task_graph.h - prepared graphs: which thread holds which ready node, and when a run has ended.
 *
 * A ready node is in exactly one chain: a participant's private stack, or the one chain that a participant offers in
 * its lane. Chains are linked through the graph's |next|. A lane goes from empty to a chain only by its own thread, and
 * from a chain to empty by an exchange, which gives the whole chain to exactly one thread: no ABA, no tags.
 *
 * A participant with two nodes or more whose lane is empty offers the older half of them. One without nodes takes back
 * its own offer, or else another's. So while all lanes are full, threads synchronize through |waits| only.
 *
 * Ready: waits[i].left counts the parents that have not ended. A thread that finds 1 in it runs the last one: all
 * others have subtracted, so it need not subtract, and restores the number for the next run. acq_rel and acquire: the
 * node sees what all its parents wrote.
 *
 * Pinning: a run is a variable on its owner's stack. A helper raises slot.helpers, then reads slot.run; the owner
 * clears slot.run, then waits for helpers to be 0. All seq_cst: either the helper reads NULL and leaves, or the owner
 * sees its count and waits. Lanes belong to the pool, so reading them needs no pin.
 *
 * Sleep: an offer (exchange, seq_cst) is P1 of the proof in wake.h, followed by a check for sleepers; W2 reads the
 * lanes. The owner sleeps in the same way on run.parked: it stores 1, reads lanes and |left|, and sleeps; a thread that
 * offers a chain or ends the last node reads |parked| afterwards.
 *
 * tests/task/model/graph.pml. */
#ifndef OX_TASK_TASK_GRAPH_H
#define OX_TASK_TASK_GRAPH_H

#include <stdatomic.h>
#include <stdbool.h>

#include "task/pool.h"

typedef struct ox_graph_slot {
  ox_graph_lane lane; /* the owner's */
  _Alignas(64) _Atomic(struct ox_graph_run *) run;
  atomic_uint gate;    /* {first:16, cap:16}: which workers may help (gate.h); 0: all */
  atomic_uint helpers; /* pins; OX_PARK_WAITING: the owner sleeps on this word */
  _Alignas(64) atomic_uint busy;
} ox_graph_slot;

typedef struct ox_graph_node {
  ox_unit_fn fn; /* NULL: nothing to run */
  void *payload;
  uint32_t n_units, n_children;
  const uint32_t *children;
} ox_graph_node;

typedef struct ox_graph_wait {
  atomic_uint left; /* parents that have not ended in this run */
  uint32_t n_parents;
} ox_graph_wait;

struct ox_graph_edge;

struct ox_task_graph {
  ox_graph_node *nodes;
  struct ox_graph_edge *edges; /* in the order they were added */
  size_t n_nodes, nodes_capacity, n_edges, edges_capacity;
  /* Made by the first run after a change: n_nodes waits, n_edges children, n_nodes next, n_roots roots. */
  ox_graph_wait *waits;
  uint32_t *children, *next, *roots;
  uint32_t n_roots;
  bool prepared;
  atomic_bool running;
};

/* Makes what a run needs of the nodes and edges; OUT_OF_MEMORY leaves the graph as it was. */
OX_NODISCARD ox_status *ox_graph_prepare(ox_task_graph *graph);

/* Runs nodes of any graph that offers some; false if there were none. */
bool ox_graphs_help(ox_pool *pool, uint32_t index);
/* True if some lane offers nodes that worker |index| may run: W2. (The gate is written before the run is published and
 * before P1, so a worker that reads an old one is seen asleep by P2.) */
bool ox_graphs_any(const ox_pool *pool, uint32_t index);

#endif
