/* SPDX-License-Identifier: Apache-2.0
 * session/large_cells_test.c - recurrent cells whose inputs are projected by large products: what a profile says about
 * them, the same bits for any number of threads and with weights packed at load or in the run, and that a repeated run
 * allocates nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"
#include "support/small_nets.h"
#include "support/text_session.h"

enum { INPUT = 128, HIDDEN = 128, MOST_THREADS = 3, TEXT_BYTES = 2 << 20 };

typedef struct cell {
  const char *op, *shape, *more;
  int gates;
} cell;
static const cell cells[] = {
    {"RNN", "25,4", "direction = \"reverse\"", 1},
    {"GRU", "100,1", "direction = \"bidirectional\"", 3},
    {"LSTM", "4,25", "direction = \"bidirectional\", layout = 1", 4},
};

static int dirs_of(const cell *c) { return strstr(c->more, "bidirectional") ? 2 : 1; }

static char *write_weights(char *at, const cell *c, const char *name, int columns, int salt) {
  const int n = c->gates * HIDDEN;
  at += sprintf(at, "float[%d,%d,%d] %s = {", dirs_of(c), n, columns, name);
  for (int i = 0; i < dirs_of(c) * n * columns; i++)
    at += sprintf(at, "%s%s0.0%d", i ? "," : "", (i * salt + i / columns) % 3 ? "" : "-", i * salt % 7);
  return at + sprintf(at, "}");
}

/* W is constant, or a product with one, which nobody computes beforehand. */
static void write_model(char *at, const cell *c, bool constant) {
  at += sprintf(at, NET_HEAD "(float[%s,%d] x) => (float[A,B,C,D] y) <float one = {1}, ", c->shape, INPUT);
  at = write_weights(at, c, "w", INPUT, 5), at += sprintf(at, ", ");
  at = write_weights(at, c, "r", HIDDEN, 3);
  sprintf(at, "> { v = Mul (w, one) y = %s <hidden_size = %d, %s> (x, %s, r) }", c->op, HIDDEN, c->more,
          constant ? "w" : "v");
}

/* The unit projects inputs where there is one. */
static void check_form(const cell *c, ox_session *s) {
#if OX_BUILD_AMX_BF16
  const bool unit = ox_isa_host() & OX_AMX_BF16;
#else
  const bool unit = false;
#endif
  ox_node_time t;
  size_t n = 0;
  while (ox_session_profile_event(s, n, &t)) n++;
  const char *form = n ? ox_session_profile_form(s, n - 1) : NULL;
  assert_non_null(form);
  if (unit != (strncmp(form, "amx six products, ", 18) == 0)) fail_msg("%s: '%s', the unit %d", c->op, form, unit);
}

/* Runs thrice; the first result goes to |*out|. */
static void run_model(const cell *c, const char *text, uint32_t threads, ox_value **out) {
  opened o;
  ox_value *y[MOST_OUT];
  long before = 0;
  open_text(&o, text, threads, 0);
  ox_session_profile_start(o.s);
  CHECK_OK(run_opened(&o, NULL, y));
  ox_session_profile_stop(o.s);
  check_form(c, o.s);
  *out = value_copy(NULL, y[0]);
  for (int turn = 0; turn < 3; turn++) {
    release_outputs(y);
    if (turn == 2) before = atomic_load(&o.count.calls);
    CHECK_OK(run_opened(&o, NULL, y));
    if (!same_tensor(ox_value_get(y[0]), ox_value_get(*out))) fail_msg("%s: run %d differs", c->op, turn + 2);
  }
  if (atomic_load(&o.count.calls) != before) fail_msg("%s: a repeated run allocates", c->op);
  release_outputs(y), close_text(&o);
}

static void test_large_cells(void **state) {
  (void)state;
  char *text = malloc(TEXT_BYTES);
  for (size_t i = 0; i < OX_COUNT(cells); i++) {
    ox_value *first = NULL;
    for (int constant = 0; constant < 2; constant++)
      for (uint32_t threads = 1; threads <= MOST_THREADS; threads++) {
        ox_value *y;
        write_model(text, &cells[i], constant);
        run_model(&cells[i], text, threads, &y);
        if (first && !same_tensor(ox_value_get(first), ox_value_get(y)))
          fail_msg("%s: %u threads, constant %d: other bits", cells[i].op, threads, constant);
        if (first) ox_value_release(y);
        if (!first) first = y;
      }
    ox_value_release(first);
  }
  free(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_large_cells)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
