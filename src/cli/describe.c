/* SPDX-License-Identifier: Apache-2.0
 * cli/describe.c - see describe.h. */
#include "describe.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { FIRST = 8 }; /* elements, and items of sequences, that are shown */

/* ---- elements ---- */

static bool is_complex(uint32_t dtype) { return dtype == OX_C64 || dtype == OX_C128; }

static bool is_whole(uint32_t dtype) {
  switch (dtype) {
    case OX_U8:
    case OX_I8:
    case OX_U16:
    case OX_I16:
    case OX_I32:
    case OX_U32:
    case OX_U4:
    case OX_I4:
    case OX_U2:
    case OX_I2:
      return true;
    default:
      return false;
  }
}

static double imaginary(const ox_tensor *t, int64_t i) {
  return t->dtype == OX_C64 ? ((const float *)t->data)[2 * i + 1] : ((const double *)t->data)[2 * i + 1];
}

/* 64-bit integers do not go through ox_tensor_element, which rounds them. */
static void print_element(const ox_tensor *t, int64_t i) {
  const ox_str *s = t->data;
  if (t->dtype == OX_STRING)
    printf("\"%.*s\"", (int)s[i].n, s[i].p);
  else if (t->dtype == OX_I64)
    printf("%" PRId64, ((const int64_t *)t->data)[i]);
  else if (t->dtype == OX_U64)
    printf("%" PRIu64, ((const uint64_t *)t->data)[i]);
  else if (t->dtype == OX_BOOL)
    printf("%s", ox_tensor_element(t, i) != 0 ? "true" : "false");
  else
    printf(is_whole(t->dtype) ? "%.0f" : "%.6g", ox_tensor_element(t, i));
  if (is_complex(t->dtype)) printf("%+.6gi", imaginary(t, i));
}

static void write_element(ox_json *j, const ox_tensor *t, int64_t i) {
  const ox_str *s = t->data;
  if (t->dtype == OX_STRING)
    ox_json_text(j, s[i].p, s[i].n);
  else if (t->dtype == OX_I64)
    ox_json_int(j, ((const int64_t *)t->data)[i]);
  else if (t->dtype == OX_U64)
    ox_json_uint(j, ((const uint64_t *)t->data)[i]);
  else if (t->dtype == OX_BOOL)
    ox_json_bool(j, ox_tensor_element(t, i) != 0);
  else if (!is_complex(t->dtype))
    ox_json_double(j, ox_tensor_element(t, i));
  else {
    ox_json_begin_array(j);
    ox_json_double(j, ox_tensor_element(t, i));
    ox_json_double(j, imaginary(t, i));
    ox_json_end_array(j);
  }
}

/* ---- extremes ---- */

typedef struct extremes {
  int64_t least, most, nans; /* where; -1: there is no number */
  double mean;
} extremes;

static bool has_extremes(const ox_tensor *t) {
  return t->dtype != OX_STRING && t->dtype != OX_BOOL && !is_complex(t->dtype);
}

static extremes find_extremes(const ox_tensor *t) {
  int64_t n = ox_tensor_count(t);
  extremes e = {-1, -1, 0, 0};
  double least = INFINITY, most = -INFINITY, sum = 0;
  for (int64_t i = 0; i < n; i++) {
    double v = ox_tensor_element(t, i);
    if (isnan(v)) {
      e.nans++;
      continue;
    }
    if (e.most < 0 || v > most) most = v, e.most = i;
    if (e.least < 0 || v < least) least = v, e.least = i;
    sum += v;
  }
  e.mean = n > e.nans ? sum / (double)(n - e.nans) : 0;
  return e;
}

static void print_extremes(const ox_tensor *t) {
  extremes e = find_extremes(t);
  if (e.most >= 0) {
    printf("  min "), print_element(t, e.least);
    printf("  max "), print_element(t, e.most);
    printf(" (at %" PRId64 ")  mean %.6g", e.most, e.mean);
  }
  if (e.nans) printf("  %" PRId64 " NaN", e.nans);
}

static void write_extremes(ox_json *j, const ox_tensor *t) {
  extremes e = find_extremes(t);
  if (e.most >= 0) {
    write_element(ox_json_key(j, "min"), t, e.least);
    write_element(ox_json_key(j, "max"), t, e.most);
    ox_json_int(ox_json_key(j, "max_at"), e.most);
    ox_json_double(ox_json_key(j, "mean"), e.mean);
  }
  ox_json_int(ox_json_key(j, "nans"), e.nans);
}

/* ---- values ---- */

static const char *kind_name(uint32_t kind) {
  static const char *const names[] = {[OX_TENSOR] = "tensor",
                                      [OX_SEQUENCE] = "sequence",
                                      [OX_MAP] = "map",
                                      [OX_NONE_VALUE] = "nothing",
                                      [OX_SPARSE] = "sparse tensor"};
  return kind < sizeof names / sizeof *names ? names[kind] : "unknown";
}

static int64_t shown(int64_t n) { return n < FIRST ? n : FIRST; }

static void print_type(const ox_tensor *t) {
  printf("%s[", ox_type_name(t->dtype));
  for (int i = 0; i < t->shape.rank; i++) printf("%s%" PRId64, i ? "," : "", t->shape.dim[i]);
  printf("]");
}

static void print_tensor(const ox_tensor *t) {
  int64_t n = ox_tensor_count(t);
  print_type(t);
  if (n > FIRST && has_extremes(t)) print_extremes(t);
  printf("  [");
  for (int64_t i = 0; i < shown(n); i++) {
    if (i) printf(", ");
    print_element(t, i);
  }
  printf("%s]\n", n > FIRST ? ", ..." : "");
}

static void print_value(const ox_tensor *t, int depth);

static void print_part(const char *label, const ox_tensor *t, int depth) {
  printf("%*s%s: ", 2 * depth, "", label);
  print_value(t, depth);
}

/* Parts stand below, |depth| + 1 deep. */
static void print_value(const ox_tensor *t, int depth) {
  const ox_tensor *const *items = t->data, *parts = t->data;
  char label[32];
  switch (t->kind) {
    case OX_TENSOR:
      print_tensor(t);
      return;
    case OX_SEQUENCE:
      printf("sequence of %" PRId64 "\n", t->shape.dim[0]);
      for (int64_t i = 0; i < shown(t->shape.dim[0]); i++) {
        snprintf(label, sizeof label, "%" PRId64, i);
        print_part(label, items[i], depth + 1);
      }
      if (t->shape.dim[0] > FIRST) printf("%*s...\n", 2 * (depth + 1), "");
      return;
    case OX_MAP:
      printf("map\n");
      print_part("keys", &parts[0], depth + 1);
      print_part("values", &parts[1], depth + 1);
      return;
    case OX_SPARSE:
      printf("sparse "), print_type(t), printf("\n");
      print_part("values", &parts[0], depth + 1);
      print_part("indices", &parts[1], depth + 1);
      return;
    default:
      printf("%s\n", kind_name(t->kind));
  }
}

void cli_describe(const char *name, const ox_tensor *t) { print_part(name, t, 0); }

static void write_part(ox_json *j, const char *key, const ox_tensor *t) {
  ox_json_begin_object(key ? ox_json_key(j, key) : j);
  cli_describe_json(j, t);
  ox_json_end_object(j);
}

static void write_type(ox_json *j, const ox_tensor *t) {
  ox_json_string(ox_json_key(j, "type"), ox_type_name(t->dtype));
  ox_json_begin_array(ox_json_key(j, "shape"));
  for (int i = 0; i < t->shape.rank; i++) ox_json_int(j, t->shape.dim[i]);
  ox_json_end_array(j);
}

static void write_tensor(ox_json *j, const ox_tensor *t) {
  write_type(j, t);
  if (has_extremes(t)) write_extremes(j, t);
  ox_json_begin_array(ox_json_key(j, "first"));
  for (int64_t i = 0; i < shown(ox_tensor_count(t)); i++) write_element(j, t, i);
  ox_json_end_array(j);
}

static void write_sequence(ox_json *j, const ox_tensor *t) {
  const ox_tensor *const *items = t->data;
  ox_json_string(ox_json_key(j, "type"), ox_type_name(t->dtype));
  ox_json_int(ox_json_key(j, "length"), t->shape.dim[0]);
  ox_json_begin_array(ox_json_key(j, "items"));
  for (int64_t i = 0; i < shown(t->shape.dim[0]); i++) write_part(j, NULL, items[i]);
  ox_json_end_array(j);
}

void cli_describe_json(ox_json *j, const ox_tensor *t) {
  const ox_tensor *parts = t->data;
  ox_json_string(ox_json_key(j, "kind"), kind_name(t->kind));
  if (t->kind == OX_TENSOR) write_tensor(j, t);
  if (t->kind == OX_SEQUENCE) write_sequence(j, t);
  if (t->kind == OX_MAP) write_part(j, "keys", &parts[0]), write_part(j, "values", &parts[1]);
  if (t->kind != OX_SPARSE) return;
  write_type(j, t);
  write_part(j, "values", &parts[0]), write_part(j, "indices", &parts[1]);
}
