/* SPDX-License-Identifier: Apache-2.0
 * graph/control_test.c - stacks of scan outputs in a host's buffers: growth, slices that do not fit, no slice at all;
 * and every buffer is an output's or handed back. */
#include "graph/control.h"

#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "support/check.h"

struct ox_control {
  int live, left; /* buffers that are out; more that may be taken */
};

static void *take(ox_control *k, size_t bytes) {
  if (k->left-- <= 0) return NULL;
  k->live++;
  return malloc(bytes ? bytes : 1);
}

static void give(ox_control *k, void *p) {
  k->live -= p != NULL;
  free(p);
}

static const ox_control_host host = {.take = take, .give = give};

typedef struct fixture {
  ox_control control;
  ox_tensor t;
  ox_tensor *out[1];
  ox_kernel_ctx node;
  ox_control_ctx c;
} fixture;

static ox_control_ctx *set_up(fixture *f, bool wanted) {
  *f = (fixture){.control = {.left = 1000}};
  f->out[0] = wanted ? &f->t : NULL;
  f->node = (ox_kernel_ctx){.struct_size = sizeof f->node, .n_out = 1, .out = f->out};
  f->c = (ox_control_ctx){&f->node, &host, &f->control};
  return &f->c;
}

static const int64_t pair[] = {2};

static ox_tensor slice_of(float *two) {
  ox_shape s = ox_shape_of(1, pair);
  return ox_tensor_view(OX_F32, &s, two);
}

static void test_slices_come_out_in_order(void **state) {
  (void)state;
  const struct { int64_t n, expect; } cases[] = {{1, 1}, {4, 4}, {5, 1}, {100, 3}, {3, 1000}};
  for (size_t i = 0; i < OX_COUNT(cases); i++) {
    fixture f;
    ox_control_ctx *c = set_up(&f, true);
    ox_stack k = {.n = 0};
    for (int64_t n = 0; n < cases[i].n; n++) {
      float v[] = {(float)n, (float)-n};
      ox_tensor t = slice_of(v);
      CHECK_OK(ox_stack_push(c, &k, &t, cases[i].expect));
    }
    CHECK_OK(ox_stack_finish(c, 0, &k, NULL));
    assert_int_equal(f.t.shape.rank, 2);
    assert_int_equal(f.t.shape.dim[0], cases[i].n);
    assert_int_equal(f.t.shape.dim[1], 2);
    assert_int_equal(f.t.bytes, (size_t)cases[i].n * 8);
    for (int64_t n = 0; n < cases[i].n; n++) {
      assert_true(((float *)f.t.data)[2 * n] == (float)n);
      assert_true(((float *)f.t.data)[2 * n + 1] == (float)-n);
    }
    assert_int_equal(f.control.live, 1);
    give(&f.control, f.t.data);
  }
}

static void test_an_unwanted_output_gives_its_buffer_back(void **state) {
  (void)state;
  fixture f;
  ox_control_ctx *c = set_up(&f, false);
  ox_stack k = {.n = 0};
  float v[] = {1, 2};
  ox_tensor t = slice_of(v);
  CHECK_OK(ox_stack_push(c, &k, &t, 1));
  CHECK_OK(ox_stack_finish(c, 0, &k, NULL));
  assert_int_equal(f.control.live, 0);
  k = (ox_stack){.n = 0};
  CHECK_OK(ox_stack_finish(c, 0, &k, NULL)); /* not even a slice */
  assert_int_equal(f.control.live, 0);
}

static void test_no_slice_takes_the_type_of_the_body(void **state) {
  (void)state;
  const struct {
    ox_shape declared, want;
  } cases[] = {{{.rank = 2, .dim = {3, -1}}, {.rank = 3, .dim = {0, 3, 0}}},
               {{.rank = 1, .dim = {-7}}, {.rank = 2, .dim = {0, 0}}},
               {{.rank = -1}, {.rank = 1, .dim = {0}}},
               {{.rank = 0}, {.rank = 1, .dim = {0}}}};
  for (size_t i = 0; i < OX_COUNT(cases); i++) {
    fixture f;
    ox_control_ctx *c = set_up(&f, true);
    ox_stack k = {.n = 0};
    ox_type body = ox_type_tensor(OX_I32, &cases[i].declared);
    CHECK_OK(ox_stack_finish(c, 0, &k, &body));
    assert_true(ox_shape_equal(&f.t.shape, &cases[i].want));
    assert_int_equal(f.t.dtype, OX_I32);
    assert_int_equal(f.t.bytes, 0);
    assert_non_null(f.t.data);
    give(&f.control, f.t.data);
    assert_int_equal(f.control.live, 0);
  }
}

/* Slices of three elements: every other one of 4 bits begins in the middle of a byte,
 * those of 6 bits lie across bytes. What is behind a slice's last
 * element, and behind the stack's, stays out of it. */
static void test_packed_slices_lie_close(void **state) {
  (void)state;
  static const struct {
    uint32_t dtype;
    size_t n;
    uint8_t slice[3], want[5];
  } cases[] = {{OX_U4, 1, {0x21, 0xf3}, {0x21, 0x03}},
               {OX_U4, 3, {0x21, 0xf3}, {0x21, 0x13, 0x32, 0x21, 0x03}},
               {OX_I2, 3, {0xf9, 0}, {0x79, 0x9e, 0x03}},
               {OX_F6E2M3, 1, {0x81, 0x30, 0xf2}, {0x81, 0x30, 0x02}},
               {OX_F6E2M3, 2, {0x81, 0x30, 0xf2}, {0x81, 0x30, 0x06, 0xc2, 0x08}}};
  for (size_t i = 0; i < OX_COUNT(cases); i++) {
    fixture f;
    ox_control_ctx *c = set_up(&f, true);
    ox_stack k = {.n = 0};
    uint8_t slice[3] = {cases[i].slice[0], cases[i].slice[1], cases[i].slice[2]};
    ox_shape three = ox_shape_of(1, (int64_t[]){3});
    ox_tensor t = ox_tensor_view(cases[i].dtype, &three, slice);
    for (size_t n = 0; n < cases[i].n; n++) CHECK_OK(ox_stack_push(c, &k, &t, 1));
    CHECK_OK(ox_stack_finish(c, 0, &k, NULL));
    assert_int_equal(f.t.bytes, (cases[i].n * 3 * ox_dtype_bits(cases[i].dtype) + 7) / 8);
    assert_memory_equal(f.t.data, cases[i].want, f.t.bytes);
    give(&f.control, f.t.data);
    assert_int_equal(f.control.live, 0);
  }
}

static void test_what_is_refused(void **state) {
  (void)state;
  fixture f;
  ox_control_ctx *c = set_up(&f, true);
  ox_stack k = {.n = 0};
  float v[] = {1, 2};
  ox_tensor t = slice_of(v), other = t, wide = t, sequence = {.kind = OX_SEQUENCE};
  other.shape.dim[0] = 1, other.bytes = 4, wide.dtype = OX_I32;
  CHECK_FAILS(ox_stack_push(c, &k, &sequence, 1), OX_INVALID_MODEL, "must be a tensor");
  CHECK_OK(ox_stack_push(c, &k, &t, INT64_MAX)); /* a bound, not what is asked for */
  CHECK_FAILS(ox_stack_push(c, &k, &other, 1), OX_SHAPE_MISMATCH, "[1] after 1 slices of [2]");
  CHECK_FAILS(ox_stack_push(c, &k, &wide, 1), OX_SHAPE_MISMATCH, "after 1 slices");
  k.t.shape.rank = OX_MAX_RANK;
  CHECK_FAILS(ox_stack_finish(c, 0, &k, NULL), OX_LIMIT, "rank 17");
  give(&f.control, k.t.data);
  assert_int_equal(f.control.live, 0);
}

static void test_out_of_memory(void **state) {
  (void)state;
  float v[] = {1, 2};
  for (int left = 0; left < 2; left++) { /* the first buffer, the one after it */
    fixture f;
    ox_control_ctx *c = set_up(&f, true);
    ox_stack k = {.n = 0};
    ox_tensor t = slice_of(v);
    ox_status *st = NULL;
    f.control.left = left;
    for (int n = 0; !st && n < 9; n++) st = ox_stack_push(c, &k, &t, 1);
    CHECK_FAILS(st, OX_OUT_OF_MEMORY, "");
    give(&f.control, k.t.data);
    assert_int_equal(f.control.live, 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_slices_come_out_in_order),
      cmocka_unit_test(test_an_unwanted_output_gives_its_buffer_back),
      cmocka_unit_test(test_no_slice_takes_the_type_of_the_body),
      cmocka_unit_test(test_packed_slices_lie_close),
      cmocka_unit_test(test_what_is_refused),
      cmocka_unit_test(test_out_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
