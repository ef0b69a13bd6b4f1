/* SPDX-License-Identifier: Apache-2.0
 * plan/parts_test.c - groups of nodes on random graphs, against a naive look for cycles. */
#include "plan/parts.h"

#include <string.h>

#include "base/macros.h"
#include "support/check.h"

enum { MOST = 60 };

typedef struct {
  ox_model *m;
  uint32_t n;
  bool edge[MOST][MOST]; /* producer, reader */
} dag;

static uint32_t next(uint32_t *seed) { return *seed = *seed * 1664525 + 1013904223; }

/* Node k reads some of those before it; its ids are shuffled by reading from 0 or n - 1 on. */
static void make_dag(dag *d, uint32_t n, uint32_t percent, uint32_t *seed) {
  memset(d, 0, sizeof *d);
  d->n = n;
  CHECK_OK(ox_model_create(ox_alloc_heap(), NULL, &d->m));
  ox_graph *g = d->m->graph;
  ox_id out[MOST], in[MOST], node;
  for (uint32_t k = 0; k < n; k++) {
    uint32_t n_in = 0;
    for (uint32_t i = 0; i < k; i++)
      if ((next(seed) >> 16) % 100 < percent) in[n_in++] = out[i], d->edge[i][k] = true;
    CHECK_OK(ox_graph_add_value(g, NULL, &out[k]));
    CHECK_OK(ox_graph_add_node(g, "Sum", "", "", in, n_in, &out[k], 1, &node));
    assert_int_equal(node, k);
  }
}

/* Contracting the groups makes a cycle: by removing groups that nobody else feeds until none is left. */
static bool has_cycle(const dag *d, const ox_id *group) {
  bool gone[MOST] = {false};
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t g = 0; g < d->n; g++) {
      bool fed = gone[g];
      for (uint32_t i = 0; i < d->n && !fed; i++)
        for (uint32_t k = 0; k < d->n; k++)
          fed |= d->edge[i][k] && group[k] == g && group[i] != g && !gone[group[i]];
      if (!fed) gone[g] = changed = true;
    }
  }
  for (uint32_t i = 0; i < d->n; i++)
    if (!gone[group[i]]) return true;
  return false;
}

static void read_groups(const dag *d, ox_parts *p, ox_id *group) {
  for (uint32_t i = 0; i < d->n; i++) group[i] = ox_parts_group(p, i);
}

static void test_join_refuses_exactly_what_makes_a_cycle(void **state) {
  (void)state;
  uint32_t seed = 1;
  size_t refused = 0, joined = 0;
  for (int round = 0; round < 300; round++) {
    dag d;
    ox_parts *p;
    ox_id group[MOST], wanted[MOST], nodes[MOST];
    make_dag(&d, 2 + next(&seed) % 30, 3 + next(&seed) % 20, &seed);
    CHECK_OK(ox_parts_create(d.m->graph, ox_alloc_heap(), &p));
    for (int k = 0; k < 12; k++) {
      size_t n = 0;
      read_groups(&d, p, group);
      memcpy(wanted, group, sizeof wanted);
      for (uint32_t i = 0; i < d.n; i++)
        if ((next(&seed) >> 16) % 5 == 0) nodes[n++] = i;
      for (size_t j = 0; j < n; j++)
        for (uint32_t i = 0; i < d.n; i++)
          if (group[i] == group[nodes[j]]) wanted[i] = group[nodes[0]];
      bool bad = has_cycle(&d, wanted);
      ox_status *st = ox_parts_join(p, nodes, n);
      assert_int_equal(st != NULL, bad);
      if (st) assert_int_equal(ox_status_code(st), OX_INVALID_ARGUMENT), refused++;
      else joined++;
      ox_status_free(st);
      ox_id after[MOST];
      read_groups(&d, p, after);
      for (uint32_t i = 0; i < d.n; i++)
        for (uint32_t j = 0; j < d.n; j++)
          assert_int_equal(after[i] == after[j], bad ? group[i] == group[j] : wanted[i] == wanted[j]);
    }
    ox_parts_destroy(p);
    ox_model_destroy(d.m);
  }
  assert_true(refused > 100 && joined > 100);
}

static uint64_t owner_of(const ox_node *n) { return n->assigned.owner; }

static void test_grown_groups_are_sound_and_cannot_grow(void **state) {
  (void)state;
  uint32_t seed = 7;
  for (int round = 0; round < 300; round++) {
    dag d;
    ox_parts *p;
    ox_id group[MOST], joined[MOST];
    make_dag(&d, 1 + next(&seed) % 40, 2 + next(&seed) % 25, &seed);
    for (uint32_t i = 0; i < d.n; i++) d.m->graph->nodes[i].assigned.owner = (uint16_t)((next(&seed) >> 16) % 3);
    CHECK_OK(ox_parts_create(d.m->graph, ox_alloc_heap(), &p));
    ox_parts_grow(p, owner_of);
    read_groups(&d, p, group);
    assert_false(has_cycle(&d, group));
    for (uint32_t i = 0; i < d.n; i++)
      for (uint32_t k = 0; k < d.n; k++) {
        uint16_t a = d.m->graph->nodes[i].assigned.owner, b = d.m->graph->nodes[k].assigned.owner;
        if (group[i] == group[k]) assert_int_equal(a, b);
        if (group[i] == group[k] && i != k) assert_int_not_equal(a, 0);
        if (!d.edge[i][k] || a != b || !a || group[i] == group[k]) continue;
        for (uint32_t j = 0; j < d.n; j++) joined[j] = group[j] == group[k] ? group[i] : group[j];
        assert_true(has_cycle(&d, joined));
      }
    ox_parts_destroy(p);
    ox_model_destroy(d.m);
  }
}

static void test_a_long_chain_is_one_part(void **state) {
  (void)state;
  enum { N = 100000 };
  ox_model *m;
  ox_parts *p;
  ox_id last = OX_NONE, value, node;
  CHECK_OK(ox_model_create(ox_alloc_heap(), NULL, &m));
  for (uint32_t i = 0; i < N; i++) {
    CHECK_OK(ox_graph_add_value(m->graph, NULL, &value));
    CHECK_OK(ox_graph_add_node(m->graph, "Relu", "", "", &last, last == OX_NONE ? 0 : 1, &value, 1, &node));
    m->graph->nodes[node].assigned.owner = i % 10 ? 1 : 2;
    last = value;
  }
  CHECK_OK(ox_parts_create(m->graph, ox_alloc_heap(), &p));
  ox_parts_grow(p, owner_of);
  for (uint32_t i = 1; i < N; i++)
    assert_int_equal(ox_parts_group(p, i) == ox_parts_group(p, i - 1), i % 10 > 1);
  ox_parts_destroy(p);
  ox_model_destroy(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_join_refuses_exactly_what_makes_a_cycle),
                                     cmocka_unit_test(test_grown_groups_are_sound_and_cannot_grow),
                                     cmocka_unit_test(test_a_long_chain_is_one_part)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
