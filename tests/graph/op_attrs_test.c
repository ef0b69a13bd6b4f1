/* SPDX-License-Identifier: Apache-2.0
 * graph/op_attrs_test.c - a node's inputs and attributes against its operator's row: sets of types, type variables,
 * ranges. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/macros.h"
#include "graph/registry.h"
#include "support/check.h"

/* ---- inputs ---- */

enum { MOST = 11 };

/* What an input is: a tensor of a type, '-' left out, '[' a sequence of tensors of the type behind it, '{' a map. */
static const struct {
  char c;
  uint32_t dtype;
} letters[] = {{'f', OX_F32}, {'d', OX_F64}, {'h', OX_F16}, {'i', OX_I64}, {'u', OX_U8}, {'s', OX_STRING}, {'?', 0}};

static uint32_t dtype_of(char c) {
  for (size_t i = 0; i < OX_COUNT(letters); i++)
    if (letters[i].c == c) return letters[i].dtype;
  fail_msg("no type '%c'", c);
  return 0;
}

static const uint32_t two_more[] = {OX_BIT(OX_U8), OX_BIT(OX_F32) | OX_BIT(OX_F64)};

#define ANY_ROW(letters_, most) \
  OX_SCHEMA(.name = "Op", .since = 1, .vars = letters_, .max_in = most, .traits = OX_ANY_KIND)
static const ox_schema *const rows[] = {
    ANY_ROW(NULL, 4),
    ANY_ROW("", 4),
    ANY_ROW("TT", 2),
    ANY_ROW("T.T", 4),
    ANY_ROW("TUTU", 4),
    ANY_ROW("T", OX_VARIADIC),
    ANY_ROW("T.", OX_VARIADIC),
    ANY_ROW(".UT", OX_VARIADIC),
    ANY_ROW(".ZZ", 3),
    OX_SCHEMA(.name = "Op", .since = 1, .max_in = 10, .types = {OX_T_ALL, OX_BIT(OX_I64)}, .more_types = two_more),
};
enum { FREE, EMPTY, PAIR, FIRST_THIRD, TWO_PAIRS, ALL, FIRST_FREE_REST, LAST_GOES_ON, BEHIND, SETS };

static const struct {
  int row;
  const char *in;
  const char *error; /* NULL: accepted */
} inputs[] = {
    {FREE, "fdiu", NULL},
    {EMPTY, "fdiu", NULL},
    {PAIR, "ff", NULL},
    {PAIR, "df", "Op: input 0 is float64, but input 1 is float32"},
    {PAIR, "us", "input 0 is uint8, but input 1 is string"},
    {PAIR, "f-", NULL},
    {PAIR, "-f", NULL},
    {PAIR, "?f", NULL}, /* what is not known yet is not wrong yet */
    {PAIR, "f?", NULL},
    {PAIR, "f", NULL},
    {FIRST_THIRD, "fid", "input 0 is float32, but input 2 is float64"},
    {FIRST_THIRD, "fifd", NULL}, /* the string's end: free */
    {FIRST_THIRD, "?if", NULL},
    {FIRST_THIRD, "-if", NULL},
    {TWO_PAIRS, "fifi", NULL},
    {TWO_PAIRS, "fiif", "input 0 is float32, but input 2 is int64"},
    {TWO_PAIRS, "fi-f", "input 1 is int64, but input 3 is float32"},
    {ALL, "f", NULL},
    {ALL, "fffffffff", NULL},
    {ALL, "fffffffffi", "input 0 is float32, but input 9 is int64"},
    {ALL, "?-fffi", "input 2 is float32, but input 5 is int64"}, /* the first that is known */
    {FIRST_FREE_REST, "fiud", NULL},
    {LAST_GOES_ON, "fihhhh", NULL},
    {LAST_GOES_ON, "fihhhd", "input 2 is float16, but input 5 is float64"},
    {LAST_GOES_ON, "fi", NULL},
    {BEHIND, "fud", "input 1 is uint8, but input 2 is float64"},
    {PAIR, "[ff", NULL}, /* sequences: what they hold */
    {PAIR, "[fi", "input 0 is float32, but input 1 is int64"},
    {PAIR, "[f[d", "input 0 is float32, but input 1 is float64"},
    {PAIR, "[?i", NULL},
    {PAIR, "{ff", NULL}, /* a map has no element type */
    {SETS, "fiiiiiiiuf", NULL},
    {SETS, "fiiiiiiiud", NULL},
    {SETS, "fiiiiiiiii", "input 8 is int64, wanted one of: uint8"},
    {SETS, "fiiiiiiiuu", "input 9 is uint8, wanted one of: float32 float64"},
    {SETS, "fiiiiiifuf", "input 7 is float32, wanted one of: int64"},
};

static ox_status *check(const ox_schema *row, const char *text) {
  ox_type types[MOST], items[MOST];
  const ox_type *in[MOST];
  ox_node n = {.op = "Op", .n_out = 1};
  for (; *text; text++, n.n_in++) {
    ox_type *t = &types[n.n_in], *item = &items[n.n_in];
    char kind = *text == '[' || *text == '{' ? *text++ : 't';
    *item = ox_type_tensor(*text == '-' ? 0 : dtype_of(*text), NULL), *t = *item;
    if (kind != 't') *t = (ox_type){.kind = kind == '[' ? OX_SEQUENCE : OX_MAP, .dtype = OX_I8, .elem = item};
    in[n.n_in] = *text == '-' ? NULL : t;
  }
  return ox_op_check(row, &n, in);
}

static void test_inputs_are_checked_by_sets_and_variables(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(inputs); i++) {
    ox_status *st = check(rows[inputs[i].row], inputs[i].in);
    const char *want = inputs[i].error, *got = st ? ox_status_message(st) : "";
    if ((want && (ox_status_code(st) != OX_INVALID_MODEL || !strstr(got, want))) || (!want && st))
      fail_msg("\"%s\" for row %d: got \"%s\", wanted \"%s\"", inputs[i].in, inputs[i].row, got, want ? want : "");
    ox_status_free(st);
  }
}

/* A sequence of items of an unknown type is of the type that it has at run time. */
static void test_a_sequence_says_itself_what_its_items_do_not(void **state) {
  (void)state;
  ox_type i8s = {.kind = OX_SEQUENCE, .dtype = OX_I8}, f32 = ox_type_tensor(OX_F32, NULL),
          i8 = ox_type_tensor(OX_I8, NULL);
  ox_node n = {.op = "Op", .n_in = 2, .n_out = 1};
  CHECK_OK(ox_op_check(rows[PAIR], &n, (const ox_type *[]){&i8s, &i8}));
  CHECK_FAILS(ox_op_check(rows[PAIR], &n, (const ox_type *[]){&i8s, &f32}), OX_INVALID_MODEL, "input 0 is int8");
}

/* ---- attributes ---- */

typedef struct {
  int64_t any, count, axis, zero;
  ox_ints counts;
  float plain, share;
  ox_floats shares;
  bool has_zero;
} ranged;

static const ox_attr_def defs[] = {
    OX_ATTR_INT(ranged, any, 0),
    OX_ATTR_INT_IN(ranged, count, 0, 1, OX_COUNT_MAX), /* not given: 0 */
    OX_ATTR_INT_IN(ranged, axis, -1, OX_AXIS_RANGE),
    OX_ATTR_INT_HAS_IN(ranged, zero, 0, -1, 0),
    OX_ATTR_INTS_IN(ranged, counts, 1, OX_COUNT_MAX),
    OX_ATTR_FLOAT(ranged, plain, 0),
    OX_ATTR_FLOAT_IN(ranged, share, 0.5f, 0, 1),
    {.name = "shares",
     .kind = OX_ATTR_FLOATS_KIND,
     .offset = offsetof(ranged, shares),
     .has_offset = OX_NO_FIELD,
     .f_lo = -FLT_MAX,
     .f_hi = FLT_MAX},
};
static const ox_schema *const ranged_row =
    OX_SCHEMA(.name = "Op", .since = 1, OX_ATTRS(defs), .attrs_bytes = sizeof(ranged));

#define INT(attr, value, text) \
  { {.name = attr, .v = {.kind = OX_ATTR_INT_KIND, .i = value}}, text }
#define FLOAT(attr, value, text) \
  { {.name = attr, .v = {.kind = OX_ATTR_FLOAT_KIND, .f = value}}, text }
#define INTS(attr, text, ...)                               \
  {                                                         \
    {.name = attr,                                          \
     .v = {.kind = OX_ATTR_INTS_KIND,                       \
           .n = sizeof((const int64_t[]){__VA_ARGS__}) / 8, \
           .ints = (const int64_t[]){__VA_ARGS__}}},        \
        text                                                \
  }
#define FLOATS(attr, text, ...)                           \
  {                                                       \
    {.name = attr,                                        \
     .v = {.kind = OX_ATTR_FLOATS_KIND,                   \
           .n = sizeof((const float[]){__VA_ARGS__}) / 4, \
           .floats = (const float[]){__VA_ARGS__}}},      \
        text                                              \
  }
static const struct {
  ox_attr attr;
  const char *error; /* NULL: accepted */
} given[] = {
    INT("any", INT64_MIN, NULL),
    INT("any", INT64_MAX, NULL),
    INT("count", 1, NULL),
    INT("count", OX_COUNT_MAX, NULL),
    INT("count", 0, "Op: attribute 'count' is 0, wanted 1 to 2147483647"), /* the default may be, a given one not */
    INT("count", -1, "'count' is -1"),
    INT("count", (int64_t)OX_COUNT_MAX + 1, "'count' is 2147483648"),
    INT("count", INT64_MIN, "'count' is -9223372036854775808"),
    INT("axis", -16, NULL),
    INT("axis", 16, NULL),
    INT("axis", -17, "'axis' is -17, wanted -16 to 16"),
    INT("axis", 17, "'axis' is 17"),
    INT("zero", 0, NULL),
    INT("zero", 1, "'zero' is 1, wanted -1 to 0"),
    INTS("counts", NULL, 1, 2, OX_COUNT_MAX),
    INTS("counts", "'counts[1]' is 0, wanted 1 to", 1, 0, 2),
    INTS("counts", "'counts[2]' is -9", 1, 2, -9),
    FLOAT("plain", NAN, NULL),
    FLOAT("share", 0, NULL),
    FLOAT("share", 1, NULL),
    FLOAT("share", 1.5f, "'share' is 1.5, wanted 0 to 1"),
    FLOAT("share", NAN, "'share' is"),
    FLOAT("share", -INFINITY, "'share' is -inf"),
    FLOATS("shares", NULL, 1, -FLT_MAX),
    FLOATS("shares", "'shares[1]' is inf", 1, INFINITY),
    FLOATS("shares", "'shares[1]' is", 1, NAN),
    FLOATS("count", "attribute 'count' of Op: wanted int, got floats", 1),
};

static void test_attributes_are_checked_by_ranges(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(given); i++) {
    ox_arena arena;
    ox_attr a = given[i].attr;
    ox_node n = {.op = "Op", .attrs = &a, .n_attrs = 1};
    void *out;
    ox_arena_init(&arena, ox_alloc_heap());
    ox_status *st = ox_attrs_decode(ranged_row, &n, &arena, &out);
    const char *want = given[i].error, *got = st ? ox_status_message(st) : "";
    if ((want && (ox_status_code(st) != OX_INVALID_MODEL || !strstr(got, want))) || (!want && st))
      fail_msg("%zu, '%s': got \"%s\", wanted \"%s\"", i, a.name, got, want ? want : "");
    ox_status_free(st);
    ox_arena_deinit(&arena);
  }
}

static void test_what_is_not_given_is_not_checked(void **state) {
  (void)state;
  ox_arena arena;
  ox_node n = {.op = "Op"};
  void *out;
  ox_arena_init(&arena, ox_alloc_heap());
  CHECK_OK(ox_attrs_decode(ranged_row, &n, &arena, &out));
  const ranged *r = out;
  assert_int_equal(r->count, 0);
  assert_int_equal(r->axis, -1);
  assert_false(r->has_zero);
  assert_int_equal(r->counts.n, 0);
  assert_true(r->share == 0.5f);
  ox_arena_deinit(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_inputs_are_checked_by_sets_and_variables),
      cmocka_unit_test(test_a_sequence_says_itself_what_its_items_do_not),
      cmocka_unit_test(test_attributes_are_checked_by_ranges),
      cmocka_unit_test(test_what_is_not_given_is_not_checked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
