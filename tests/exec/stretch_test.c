/* SPDX-License-Identifier: Apache-2.0
 * exec/stretch_test.c - small steps that run apart: which do, that they give the bits of the list, and that no two that
 * may run at once touch the same memory. */
#include "exec/stretch.h"

#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "support/small_nets.h"

/* ---- which, and the same bits ---- */

static void check_net(const net *n, const char *text) {
  opened list, o;
  ox_value *want[MOST_OUT], *got[MOST_OUT];
  open_text(&list, text, 1, 0);
  CHECK_OK(run_opened(&list, NULL, want));
  assert_null(context_of(&list)->stretches);
  for (uint32_t threads = 2; threads <= 4; threads += 2) {
    open_text(&o, text, threads, 0);
    for (int turn = 0; turn < 40; turn++) {
      if (turn) set_pause(&o, turn % 8 != 0);
      ox_status *st = run_opened(&o, NULL, got);
      if (st) fail_msg("%s: %s", n->name, ox_status_message(st));
      const ox_context *c = context_of(&o);
      if ((c->stretches != NULL) != n->apart) fail_msg("%s: %d stretches", n->name, c->stretches != NULL);
      if (turn && c->stretches) assert_int_equal(c->stretches->apart, turn % 8 != 0);
      for (size_t i = 0; i < ox_session_output_count(o.s); i++)
        if (!same_tensor(ox_value_get(want[i]), ox_value_get(got[i])))
          fail_msg("%s, %u threads, turn %d: output %zu has other bits", n->name, threads, turn, i);
      release_outputs(got);
    }
    close_text(&o);
  }
  release_outputs(want);
  close_text(&list);
}

static void test_same_bits_as_the_list(void **state) {
  static writer w;
  (void)state;
  for (size_t i = 0; i < n_nets; i++) check_net(&nets[i], net_text(&nets[i], &w));
}

/* ---- memory ---- */

/* reach[i * n + k]: step i waits for step k, or for one that does. */
static void find_order(const ox_context *c, bool *reach) {
  uint32_t n = c->n_steps;
  for (uint32_t i = 0; i < n; i++) {
    const ox_node *node = c->steps[i].node;
    for (uint32_t k = 0; k < i; k++)
      for (uint32_t o = 0; o < c->steps[k].node->n_out; o++)
        for (uint32_t j = 0; j < node->n_in; j++) {
          if (node->in[j] != c->steps[k].node->out[o] || node->in[j] == OX_NONE) continue;
          reach[i * n + k] = true;
          for (uint32_t m = 0; m < k; m++) reach[i * n + m] |= reach[k * n + m];
        }
  }
}

typedef struct {
  const char *at;
  size_t bytes;
} range;

static bool overlap(range a, range b) { return a.bytes && b.bytes && a.at < b.at + b.bytes && b.at < a.at + a.bytes; }

/* What |s| writes, then what it reads. */
static size_t ranges_of(const ox_step *s, range *out, size_t *out_written) {
  size_t n = 0;
  for (uint32_t k = 0; k < s->c.n_out; k++) out[n++] = (range){s->c.out[k]->data, s->c.out[k]->bytes};
  out[n++] = (range){s->c.shared, s->c.shared_bytes};
  out[n++] = (range){s->scratch, s->c.scratch_per_worker};
  *out_written = n;
  for (uint32_t k = 0; k < s->c.n_in; k++)
    if (s->c.in[k]->data) out[n++] = (range){s->c.in[k]->data, s->c.in[k]->bytes};
  return n;
}

static void check_pair(const char *name, const ox_step *a, const ox_step *b) {
  range of_a[16], of_b[16];
  size_t wa, wb, na = ranges_of(a, of_a, &wa), nb = ranges_of(b, of_b, &wb);
  for (size_t i = 0; i < na; i++)
    for (size_t k = 0; k < nb; k++)
      if ((i < wa || k < wb) && overlap(of_a[i], of_b[k]))
        fail_msg("%s: the steps of '%s' and '%s' may run at once and share memory", name, a->node->op, b->node->op);
}

static void test_steps_that_may_run_at_once_share_nothing(void **state) {
  static writer w;
  (void)state;
  for (size_t i = 0; i < n_nets; i++) {
    opened o;
    ox_value *out[MOST_OUT];
    if (!nets[i].apart) continue;
    open_text(&o, net_text(&nets[i], &w), 2, 0);
    CHECK_OK(run_opened(&o, NULL, out));
    release_outputs(out);
    set_pause(&o, true);
    CHECK_OK(run_opened(&o, NULL, out));
    const ox_context *c = context_of(&o);
    uint32_t n = c->n_steps, pairs = 0, areas = 0;
    bool *reach = calloc((size_t)n * n, sizeof *reach);
    find_order(c, reach);
    for (uint32_t b = 0; b < n; b++)
      for (uint32_t a = 0; a < b; a++) {
        const ox_step *s = &c->steps[a], *t = &c->steps[b];
        bool both = s->mode == OX_MODE_STATIC && t->mode == OX_MODE_STATIC && s->stretch && s->stretch == t->stretch;
        if (!both || reach[b * n + a]) continue;
        check_pair(nets[i].name, s, t);
        pairs++, areas += ox_step_area(s) && ox_step_area(t);
      }
    assert_true(pairs > 10 && (strcmp(nets[i].name, "scratch") != 0 || areas));
    free(reach);
    release_outputs(out);
    close_text(&o);
  }
}

static void test_repeated_runs_allocate_nothing(void **state) {
  static writer w;
  (void)state;
  for (size_t i = 0; i < n_nets; i++) {
    opened o;
    ox_value *out[MOST_OUT];
    if (!nets[i].apart) continue;
    open_text(&o, net_text(&nets[i], &w), 2, 0);
    for (int turn = 0; turn < 8; turn++) {
      long before = atomic_load(&o.count.calls);
      if (turn) set_pause(&o, turn % 2);
      CHECK_OK(run_opened(&o, NULL, out));
      release_outputs(out);
      if (turn > 1) assert_int_equal(atomic_load(&o.count.calls), before);
    }
    close_text(&o);
  }
}

static void test_the_workspace_is_planned(void **state) {
  static writer w;
  (void)state;
  opened o;
  ox_value *out[MOST_OUT];
  size_t before, after;
  ox_shape shape = {.rank = 2, .dim = {16, 128}};
  open_text(&o, net_text(net_named("branches of softmax"), &w), 2, 0);
  CHECK_OK(ox_session_plan(o.s, &shape, 1, &before));
  for (int turn = 0; turn < 3; turn++) {
    CHECK_OK(run_opened(&o, NULL, out));
    release_outputs(out);
  }
  CHECK_OK(ox_session_plan(o.s, &shape, 1, &after));
  assert_int_equal(before, after);
  close_text(&o);
  open_text(&o, net_text(net_named("branches of softmax"), &w), 2,
            before); /* under a limit memory counts more than time */
  CHECK_OK(run_opened(&o, NULL, out));
  assert_null(context_of(&o)->stretches);
  assert_true(context_of(&o)->slab_bytes < before);
  release_outputs(out);
  close_text(&o);
}

/* ---- the list where it must be ---- */

static void test_profiles_and_watched_runs_take_the_list(void **state) {
  static writer w;
  static const int never = 0;
  const ox_run_opts opts[] = {{.struct_size = sizeof opts[0], .cancel = &never},
                              {.struct_size = sizeof opts[0], .timeout_ms = 100000}};
  (void)state;
  opened o;
  ox_value *out[MOST_OUT];
  ox_node_time event;
  open_text(&o, net_text(net_named("branches of softmax"), &w), 2, 0);
  CHECK_OK(run_opened(&o, NULL, out));
  release_outputs(out);
  for (int turn = 0; turn < 3; turn++) {
    set_pause(&o, true);
    if (turn == 2) ox_session_profile_start(o.s);
    CHECK_OK(run_opened(&o, turn < 2 ? &opts[turn] : NULL, out));
    release_outputs(out);
    assert_false(context_of(&o)->stretches->apart);
  }
  assert_int_equal(ox_session_profile_event(o.s, 31, &event), 1);
  close_text(&o);
}

/* Runs that follow each other soon are timed, both ways. */
static void test_both_ways_are_timed(void **state) {
  static writer w;
  (void)state;
  opened o;
  ox_value *out[MOST_OUT];
  open_text(&o, net_text(net_named("branches of softmax"), &w), 2, 0);
  for (int turn = 0; turn < 12; turn++) {
    if (turn) context_of(&o)->stretches->ended_ns = INT64_MAX / 2;
    CHECK_OK(run_opened(&o, NULL, out));
    release_outputs(out);
  }
  const ox_two_ways *ways = &context_of(&o)->stretches->ways;
  assert_true(ways->n[0] >= 3 && ways->n[1] >= 3);
  for (int way = 0; way < 2; way++)
    for (int i = 0; i < 3; i++) assert_true(ways->last_ns[way][i] > 0);
  close_text(&o);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_same_bits_as_the_list),
      cmocka_unit_test(test_steps_that_may_run_at_once_share_nothing),
      cmocka_unit_test(test_repeated_runs_allocate_nothing),
      cmocka_unit_test(test_the_workspace_is_planned),
      cmocka_unit_test(test_profiles_and_watched_runs_take_the_list),
      cmocka_unit_test(test_both_ways_are_timed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
