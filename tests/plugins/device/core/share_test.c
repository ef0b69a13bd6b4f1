/* SPDX-License-Identifier: Apache-2.0
 * plugins/device/core/share_test.c - values that are bytes of others: which are, and where they lie. */
#include "base/macros.h"
#include "plugins/device/plan.h"
#include "support/check.h"

enum { N = 6, BYTES = 1024 };

/* Values of as many bytes that nobody has touched, the first written by an early step. */
static void values_make(dev_place *out) {
  for (uint32_t i = 0; i < N; i++)
    out[i] = (dev_place){.kind = DEV_PLACE_WORK, .same = i, .bytes = BYTES, .first = UINT32_MAX};
  out[0].first = 0, out[0].bytes = 4 * BYTES;
}

static dev_ref value(uint32_t id, size_t offset) { return (dev_ref){DEV_REF_VALUE, id, offset}; }

static const struct {
  const char *name;
  dev_place_kind kind;
  uint32_t first;
  size_t bytes, to_offset, from_offset;
  bool shared;
} rows[] = {
    {"the beginning", DEV_PLACE_WORK, UINT32_MAX, BYTES, 0, 0, true},
    {"a place that libraries can count on", DEV_PLACE_WORK, UINT32_MAX, BYTES, 0, 512, true},
    {"another place", DEV_PLACE_WORK, UINT32_MAX, BYTES, 0, 128, false},
    {"a part of the value", DEV_PLACE_WORK, UINT32_MAX, BYTES / 2, 0, 0, false},
    {"behind its beginning", DEV_PLACE_WORK, UINT32_MAX, BYTES, 256, 0, false},
    {"what a step has written", DEV_PLACE_WORK, 3, BYTES, 0, 0, false},
    {"what the caller gets", DEV_PLACE_OUTPUT, UINT32_MAX, BYTES, 0, 0, false},
};

static void test_which_share(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    dev_place values[N];
    dev_plan p = {.values = values};
    values_make(values);
    values[1].kind = rows[i].kind, values[1].first = rows[i].first;
    if (dev_share(&p, value(1, rows[i].to_offset), value(0, rows[i].from_offset), rows[i].bytes) != rows[i].shared)
      fail_msg("%s: wanted %d", rows[i].name, rows[i].shared);
    dev_ref at = dev_value(&p, 1);
    assert_int_equal(at.id, rows[i].shared ? 0 : 1);
    assert_int_equal(at.offset, rows[i].shared ? rows[i].from_offset : 0);
  }
}

static void test_temporaries_do_not(void **state) {
  (void)state;
  dev_place values[N];
  dev_plan p = {.values = values};
  values_make(values);
  assert_false(dev_share(&p, value(1, 0), (dev_ref){DEV_REF_TEMP, 0, 0}, BYTES));
  assert_false(dev_share(&p, (dev_ref){DEV_REF_TEMP, 0, 0}, value(0, 0), BYTES));
  assert_false(dev_share(&p, value(1, 0), value(1, 0), BYTES));
}

static void test_places_add_up(void **state) {
  (void)state;
  dev_place values[N];
  dev_plan p = {.values = values};
  values_make(values);
  values[2].bytes = 512, values[3].bytes = 256;
  assert_true(dev_share(&p, value(1, 0), value(0, 1024), BYTES));
  dev_ref in = dev_value(&p, 1);
  in.offset += 512;
  assert_true(dev_share(&p, value(2, 0), in, 512));
  assert_null(dev_emit_view(&p, 4, 2));
  in = dev_value(&p, 4);
  in.offset += 256;
  assert_true(dev_share(&p, value(3, 0), in, 256));
  assert_int_equal(dev_value(&p, 3).id, 0);
  assert_int_equal(dev_value(&p, 3).offset, 1024 + 512 + 256);
  assert_int_equal(dev_value(&p, 4).offset, 1024 + 512);
}

static const struct {
  const char *name;
  dev_place_kind target, source;
  size_t to_offset, from_offset, bytes;
  bool joined;
} pieces[] = {
    {"a piece", DEV_PLACE_WORK, DEV_PLACE_WORK, 1024, 0, BYTES, true},
    {"a piece of what the caller gets", DEV_PLACE_OUTPUT, DEV_PLACE_WORK, 256, 0, BYTES, true},
    {"at another place", DEV_PLACE_WORK, DEV_PLACE_WORK, 128, 0, BYTES, false},
    {"a part of a value", DEV_PLACE_WORK, DEV_PLACE_WORK, 1024, 256, BYTES, false},
    {"fewer bytes", DEV_PLACE_WORK, DEV_PLACE_WORK, 1024, 0, BYTES / 2, false},
    {"what the caller brings", DEV_PLACE_WORK, DEV_PLACE_INPUT, 1024, 0, BYTES, false},
    {"what the caller gets", DEV_PLACE_WORK, DEV_PLACE_OUTPUT, 1024, 0, BYTES, false},
    {"a constant", DEV_PLACE_WORK, DEV_PLACE_CONSTANT, 1024, 0, BYTES, false},
};

/* Value 1, of steps 2 and 3, becomes a part of value 0, which no step has touched: so do its steps. */
static void test_pieces_are_written_in_place(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(pieces); i++) {
    dev_place values[N];
    dev_step reads = {.n_buffers = 2, .buffers = {value(2, 0), value(1, 64)}};
    dev_step writes = {.next = &reads, .n_buffers = 2, .buffers = {value(3, 0), value(1, 0)}};
    dev_plan p = {.values = values, .steps = &writes};
    values_make(values);
    values[0].kind = pieces[i].target, values[0].first = UINT32_MAX;
    values[1].kind = pieces[i].source, values[1].first = 2, values[1].last = 3;
    bool joined = pieces[i].joined;
    if (dev_share(&p, value(0, pieces[i].to_offset), value(1, pieces[i].from_offset), pieces[i].bytes) != joined)
      fail_msg("%s: wanted %d", pieces[i].name, joined);
    assert_int_equal(writes.buffers[1].id, joined ? 0 : 1);
    assert_int_equal(writes.buffers[1].offset, joined ? pieces[i].to_offset : 0);
    assert_int_equal(reads.buffers[1].id, joined ? 0 : 1);
    assert_int_equal(reads.buffers[1].offset, 64 + (joined ? pieces[i].to_offset : 0));
    assert_int_equal(reads.buffers[0].id, 2);
    assert_int_equal(values[0].first, joined ? 2 : UINT32_MAX);
    assert_int_equal(values[0].last, joined ? 3 : 0);
    assert_int_equal(dev_value(&p, 1).id, joined ? 0 : 1);
    if (joined) assert_false(values[1].first <= values[1].last);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_which_share), cmocka_unit_test(test_temporaries_do_not),
                                     cmocka_unit_test(test_places_add_up),
                                     cmocka_unit_test(test_pieces_are_written_in_place)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
