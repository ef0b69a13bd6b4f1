/* SPDX-License-Identifier: Apache-2.0
 * support/ep_models.c - see ep_models.h. */
#include "support/ep_models.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/file_map.h"
#include "base/macros.h"
#include "graph/dtype.h"
#include "support/check.h"
#include "support/text_session.h"

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17, \"ai.onnx.ml\" : 3]> "

const ep_model ep_models[] = {
    {"chain",
     HEAD "g (float[N,7] x) => (float[N,7] y) { a = Abs (x) b = Neg (a) c = Sigmoid (b) d = Add (c, x) y = Tanh (d) }"},
    {"diamond",
     HEAD "g (float[5] x) => (float[5] y) { a = Relu (x) b = Neg (a) c = Exp (a) d = Add (b, c) y = Mul (d, a) }"},
    {"lattice", HEAD "g (float[N,3] x) => (float[N,3] y, float[N,3] z) { a = Abs (x) b = Neg (x) c = Add (a, b) d = "
                     "Sub (a, b) e = Mul (c, d) "
                     "f = Add (c, d) h = Max (e, f) i = Min (e, f) j = Sub (h, i) k = Add (h, i) l = Mul (j, a) m = "
                     "Mul (k, b) y = Add (l, m) "
                     "z = Sub (l, e) }"},
    {"convolutions", HEAD
     "g (float[N,2,9,9] x, float[3,2,3,3] w, float[3] b, float[3,4] v) => (float[N,4] y) <float[1,3,1,1] s = {0.5, -1, "
     "2}>{ c = Conv <pads = [1,1,1,1]> (x, w, b) r = Relu (c) p = MaxPool <kernel_shape = [3,3], strides = [2,2]> (r) "
     "a = Add (p, s) q = GlobalAveragePool (a) f = Flatten (q) y = Gemm (f, v) }"},
    {"one value twice",
     HEAD "g (float[N,4] x) => (float[N,12] y) { a = Mul (x, x) b = Add (a, a) y = Concat <axis = 1> (a, b, a) }"},
    {"outputs inside",
     HEAD "g (float[N,6] x) => (float[N,2] p, float[N,6] a, float[N,6] y, float[N,2] r) <int64[3] k = {2,2,2}> "
          "{ a = Relu (x) p, q, s = Split <axis = 1> (a, k) r = Add (p, q) y = Sub (a, x) }"},
    {"constants and inputs as outputs",
     HEAD "g (float[N,2] x, float[2] w) => (float[2] c, float[N,2] y, float[2] d, float[2] e) <float[2] c = {3, -4}> "
          "{ y = Add (x, c) d = Neg (c) e = Identity (w) }"},
    {"shape arithmetic",
     HEAD "g (float[N,6,8] x) => (float[A,B] y) <int64[1] one = {1}, int64[1] zero = {0}, int64[1] minus = {-1}>"
          "{ s = Shape (x) n = Slice (s, zero, one, zero) t = Concat <axis = 0> (n, minus) r = Reshape (x, t) y = Relu "
          "(r) }"},
    {"shapes from data",
     HEAD "g (float[N,9] x, int64[2] s) => (float[M] y, float[A,B] z) <float zero = {0}>"
          "{ c = Greater (x, zero) i = NonZero (c) t = Transpose (i) v = GatherND (x, t) y = Exp (v) m = Abs (s) "
          "u = Expand (zero, m) w = Cos (u) z = Add (w, w) }"},
    {"attention that masks all", HEAD
     "g (float[N,2,4,8] x) => (float[N,2,4,8] y) <float[1,1,1,4] m = {-3.4028234e38, -3.4028234e38, -3.4028234e38, "
     "-3.4028234e38}> { t = Transpose <perm = [0, 1, 3, 2]> (x) s = MatMul (x, t) a = Add (s, m) p = Softmax <axis = "
     "-1> (a) y = MatMul (p, x) }"},
    {"choices and sums along axes",
     HEAD "g (float[N,6] x, float[4,6] b) => (float[N,3] v, int64[N,3] i, int64[N,1] a, float[N,6] s, float[4,6] u, "
          "float[N,6,3] o) <int64[1] k = {3}, int64 one = {1}, int64 six = {6}, float[2] w = {-1, 2}> "
          "{ v, i = TopK (x, k) a = ArgMin <axis = 1> (x) s = CumSum <reverse = 1> (x, one) u = Trilu (b, one) "
          "o = OneHot <axis = 1> (i, six, w) }"},
    {"quantized convolution", HEAD
     "g (float[N,3,5,5] x) => (float[N,4,5,5] y) <float s = {0.05}, uint8 z = {120}, int8[4,3,1,1] w = {1, -2, 3, 4, "
     "5, -6, 7, 8, 9, 1, 2, 3}, float[4] t = {0.1037, 0.2313, 0.0719, 0.1371}, int8[4] e = {0, 0, 0, 0}> { a = "
     "QuantizeLinear (x, s, z) b = DequantizeLinear (a, s, z) d = DequantizeLinear <axis = 0> (w, t, e) c = Conv (b, "
     "d) r = Relu (c) f = QuantizeLinear (r, s, z) y = DequantizeLinear (f, s, z) }"},
    {"views", HEAD
     "g (float[N,2,3] x) => (float[N,6] f, float[A,B] y, float[N,1,2,3] u) <int64[2] s = {-1, 3}, int64[1] one = {1}> "
     "{ f = Flatten (x) r = Reshape (x, s) a = Neg (r) i = Identity (a) t = Flatten (i) y = Abs (t) u = Unsqueeze (x, "
     "one) }"},
    {"branches", HEAD
     "g (float[N,3] x) => (float[N,3] y, float[] z) <float zero = {0}> { a = Neg (x) m = ReduceSum <keepdims = 0> (x) "
     "c = Greater (m, zero) d = Not (c) r = If <then_branch = t () => (float[N,3] p) { p = Exp (a) }, else_branch = e "
     "() => (float[N,3] q) { h = Abs (a) q = Add (h, x) }> (c) z = If <then_branch = t2 () => (float[N,3] p2) { p2 = "
     "Sin (x) }, else_branch = e2 () => (float q2) { q2 = Identity (m) }> (d) y = Add (r, a) }"},
    {"loop",
     HEAD "g (float[N,2] x) => (float[N,2] y, float[A,B,2] z) <int64 m = {3}, bool go = {1}, float h = {0.5}> { k = "
          "Mul (x, h) y, z = Loop <body = b (int64 i, bool c, float[N,2] v) => (bool c2, float[N,2] w, float[N,2] s) { "
          "c2 = Identity (c) f = Cast <to = 1> (i) e = Mul (f, k) w = Add (v, e) s = Neg (w) }> (m, go, x) }"},
    {"growing loop", HEAD "g (float[N,2] x) => (float[A,2] y) <int64 m = {6}, bool go = {1}> { k = Tanh (x) y = Loop "
                          "<body = b (int64 i, bool c, "
                          "float[K,2] v) => (bool c2, float[L,2] w) { c2 = Identity (c) n = Neg (k) w = Concat <axis = "
                          "0> (v, n) }> (m, go, x) }"},
    {"nested bodies", HEAD
     "g (float[N,2] x) => (float[N,2] y) <int64 m = {2}, bool go = {1}> { z = Sin (x) y = Loop <body = b (int64 i, "
     "bool c, float[N,2] v) => (bool c2, float[N,2] w) { c2 = Identity (c) o = Neg (v) w = If <then_branch = t () => "
     "(float[N,2] p) { p = Loop <body = d (int64 j, bool k, float[N,2] u) => (bool k2, float[N,2] u2) { k2 = Identity "
     "(k) t1 = Add (u, z) u2 = Add (t1, o) }> (m, go, v) }, else_branch = e () => (float[N,2] q) { q = Identity (v) }> "
     "(c) }> (m, go, x) }"},
    {"scan", HEAD "g (float[2] x, float[4,2] s) => (float[2] q, float[4,2] y) { q, y = Scan <num_scan_inputs = 1, "
                  "body = b (float[2] a, float[2] v) => (float[2] a2, float[2] o) { h = Exp (v) a2 = Add (a, h) o = "
                  "Mul (a2, x) }> (x, s) }"},
    {"omitted inputs and outputs", HEAD
     "g (float[N,1,4,4] x, float[2,N,3] l, float[1,8,3] w, float[1,8,2] r) => (float[N,1,4,4] y, float[N,1,8,8] z, "
     "float[1,N,2] h) <float most = {0.2}, float[4] scales = {1, 1, 2, 2}> "
     "{ y = Clip (x, , most) z = Resize <mode = \"nearest\"> (x, , scales) , h = LSTM <hidden_size = 2> (l, w, r) }"},
    {"attention", HEAD "g (float[N,5,8] x, float[8,8] w) => (float[N,5,8] y) { q = MatMul (x, w) t = Transpose <perm = "
                       "[0,2,1]> (q) s = MatMul (q, t) "
                       "p = Softmax <axis = -1> (s) a = MatMul (p, x) y = Add (a, x) }"},
    {"normalization",
     HEAD "g (float[N,6,7] x) => (float[N,6,7] y) { m = ReduceMean <axes = [-1]> (x) d = Sub (x, m) q = Mul (d, d) "
          "v = ReduceMean <axes = [-1]> (q) e = Add (v, v) s = Sqrt (e) y = Div (d, s) }"},
    {"integers",
     HEAD "g (float[N,5] x, int64[N] i) => (int64[N] a, float[N,5] y, float[N,5] w) <float zero = {0}, float[2,5] "
          "table = {1, 2, 3, 4, 5, -1, -2, -3, -4, -5}> { a = ArgMax <axis = 1, keepdims = 0> (x) "
          "b = Add (a, i) c = Cast <to = 1> (b) d = Less (x, zero) e = Neg (x) w = Where (d, e, x) f = Gather <axis = "
          "0> (table, i) "
          "y = Mul (f, w) }"},
    {"quantized", HEAD "g (float[N,8] x) => (float[N,8] y, uint8[N,8] q) <float s = {0.02}, uint8 z = {128}> { q = "
                       "QuantizeLinear (x, s, z) "
                       "d = DequantizeLinear (q, s, z) r = Relu (d) y = Add (r, d) }"},
    {"labels",
     HEAD "g (int64[N] i, float[N] x) => (string[N] s, float[N] y, string[2] t) <string[2] k = {\"left\", \"\"}> "
          "{ s = ai.onnx.ml.LabelEncoder <keys_int64s = [0,1], values_strings = [\"none\",\"one\"]> (i) "
          "l = ai.onnx.ml.LabelEncoder <keys_strings = [\"none\",\"one\"], values_floats = [0.5,1.5]> (s) y = Add (l, "
          "x) t = Identity (k) }"},
    {"sequences", HEAD
     "g (float[4,3] x) => (float[4,3] y, seq(float[A,3]) q, float[A,B] z, int64 n) <int64 one = {1}> { a = Neg (x) "
     "q = SplitToSequence <axis = 0> (a) e = SequenceAt (q, one) f = Add (e, e) r = SequenceInsert (q, f) n = "
     "SequenceLength (r) "
     "y = ConcatFromSequence <axis = 0> (q) z = ConcatFromSequence <axis = 0> (r) }"},
    {"optionals", HEAD "g (float[N] x) => (float[N] y, bool h) { a = Neg (x) o = Optional (a) h = OptionalHasElement "
                       "(o) e = OptionalGetElement (o) "
                       "y = Add (e, x) }"},
    {"nobody reads", HEAD "g (float[N] x) => (float[N] y) { a = Neg (x) b = Exp (a) y = Abs (x) c = Sin (y) }"},
    {"no inputs",
     HEAD "g () => (float[3] y, float[3] z) <float[3] a = {1, 2, 3}> { b = Neg (a) y = Exp (b) z = Add (b, a) }"},
};
const size_t n_ep_models = OX_COUNT(ep_models);

const ep_model *ep_model_named(const char *name) {
  for (size_t i = 0; i < n_ep_models; i++)
    if (strcmp(ep_models[i].name, name) == 0) return &ep_models[i];
  fail_msg("no model '%s'", name);
  return NULL;
}

/* ---- inputs ---- */

static void fill(ox_tensor *t, uint32_t seed) {
  int64_t n = ox_tensor_count(t);
  for (int64_t i = 0; i < n; i++) {
    seed = seed * 1664525 + 1013904223;
    float x = (float)(seed >> 8) / (1 << 23) - 1;
    switch (t->dtype) {
      case OX_F32:
        ((float *)t->data)[i] = x;
        break;
      case OX_F16:
        ((uint16_t *)t->data)[i] = ox_f16_from_f32(x);
        break;
      case OX_F64:
        ((double *)t->data)[i] = x;
        break;
      case OX_I64:
        ((int64_t *)t->data)[i] = seed >> 31;
        break;
      case OX_I32:
        ((int32_t *)t->data)[i] = (int32_t)(seed >> 31);
        break;
      case OX_BOOL:
        ((uint8_t *)t->data)[i] = (uint8_t)(seed >> 31);
        break;
      default:
        ((uint8_t *)t->data)[i * (ox_type_bits(t->dtype) / 8)] = (uint8_t)(seed >> 24);
    }
  }
}

void ep_inputs_make(ox_env *env, const ox_session *s, int64_t batch, ep_inputs *out) {
  *out = (ep_inputs){.n = ox_session_input_count(s)};
  assert_true(out->n <= EP_MOST_VALUES);
  for (size_t i = 0; i < out->n; i++) {
    ox_value_info info;
    CHECK_OK(ox_session_input(s, i, &info));
    assert_int_equal(info.kind, OX_TENSOR);
    for (int d = 0; d < info.rank; d++) info.dims[d] = info.dims[d] < 0 ? batch : info.dims[d];
    CHECK_OK(ox_value_create(env, info.dtype, info.dims, (size_t)info.rank, &out->value[i]));
    fill((ox_tensor *)ox_value_get(out->value[i]), 977 * (uint32_t)(i + 1));
    out->name[i] = info.name;
  }
}

/* A recorded input; NULL if the file is not there. */
static ox_value *read_input(ox_env *env, const char *path, uint32_t kind) {
  ox_file_map *map;
  ox_value *v;
  ox_status *st = ox_file_map_open(ox_alloc_heap(), NULL, path, &map);
  ox_status_free(st);
  if (st) return NULL;
  CHECK_OK(ox_value_parse(env, kind, ox_file_map_data(map), ox_file_map_bytes(map), &v));
  ox_file_map_release(map);
  return v;
}

void ep_inputs_read(ox_env *env, const ox_session *s, const char *path, ep_inputs *out) {
  const char *slash = strrchr(path, '/');
  int folder = slash ? (int)(slash - path) : 0;
  *out = (ep_inputs){.n = ox_session_input_count(s)};
  assert_true(out->n <= EP_MOST_VALUES);
  for (size_t i = 0; i < out->n; i++) {
    char file[600];
    ox_value_info info;
    CHECK_OK(ox_session_input(s, i, &info));
    snprintf(file, sizeof file, "%.*s/test_data_set_0/input_%zu.pb", folder, path, i);
    out->name[i] = info.name, out->value[i] = read_input(env, file, info.kind);
    if (out->value[i]) continue;
    ep_inputs_free(out);
    ep_inputs_make(env, s, 1, out);
    return;
  }
}

void ep_inputs_free(ep_inputs *in) {
  for (size_t i = 0; i < in->n; i++) ox_value_release(in->value[i]);
  in->n = 0;
}

/* ---- outputs ---- */

ox_status *ep_run(ox_session *s, const ep_inputs *in, ep_outputs *out) {
  *out = (ep_outputs){.n = ox_session_output_count(s)};
  assert_true(out->n <= EP_MOST_VALUES);
  return ox_session_run(s, NULL, in->name, (const ox_value *const *)in->value, in->n, NULL, out->value, out->n);
}

void ep_outputs_free(ep_outputs *out) {
  for (size_t i = 0; i < out->n; i++) ox_value_release(out->value[i]);
  out->n = 0;
}

static void compare(const char *what, size_t output, const ox_tensor *a, const ox_tensor *b, double tolerance);

static void compare_strings(const char *what, size_t output, const ox_tensor *a, const ox_tensor *b) {
  const ox_str *s = a->data, *t = b->data;
  for (size_t i = 0; i < a->bytes / sizeof *s; i++)
    if (s[i].n != t[i].n || (s[i].n && memcmp(s[i].p, t[i].p, s[i].n) != 0))
      fail_msg("%s, output %zu: string %zu differs", what, output, i);
}

/* The same number, rounded to 16 bits this way and that. */
static bool neighbours(double p, double q) {
  int exponent;
  frexp(fmax(fabs(p), fabs(q)), &exponent);
  return fabs(p - q) <= ldexp(1, (exponent > -13 ? exponent : -13) - 11);
}

static void compare_numbers(const char *what, size_t output, const ox_tensor *a, const ox_tensor *b, double tolerance) {
  double largest = 0;
  bool floats = a->dtype == OX_F32 || a->dtype == OX_F64 || a->dtype == OX_F16;
  if (!a->bytes || memcmp(a->data, b->data, a->bytes) == 0) return;
  for (int64_t i = 0; i < ox_tensor_count(a); i++)
    if (isfinite(ox_tensor_element(a, i))) largest = fmax(largest, fabs(ox_tensor_element(a, i)));
  for (int64_t i = 0; i < ox_tensor_count(a); i++) {
    double p = ox_tensor_element(a, i), q = ox_tensor_element(b, i);
    bool fine = floats && tolerance > 0 && (fabs(p - q) <= tolerance * largest || (isnan(p) && isnan(q)));
    if (a->dtype == OX_F16 && tolerance > 0 && neighbours(p, q)) fine = true;
    if (!fine && (p != q || tolerance == 0))
      fail_msg("%s, output %zu[%lld]: wanted %.9g, got %.9g", what, output, (long long)i, p, q);
  }
}

static void compare(const char *what, size_t output, const ox_tensor *a, const ox_tensor *b, double tolerance) {
  bool shapes = a->kind == OX_NONE_VALUE ||
                (a->shape.rank == b->shape.rank &&
                 memcmp(a->shape.dim, b->shape.dim, (size_t)a->shape.rank * sizeof *a->shape.dim) == 0);
  if (a->kind != b->kind || a->dtype != b->dtype || !shapes || (a->kind == OX_TENSOR && a->bytes != b->bytes))
    fail_msg("%s, output %zu: wanted kind %u %s of rank %d (%zu bytes), got kind %u %s of rank %d (%zu bytes)", what,
             output, a->kind, ox_type_name(a->dtype), (int)a->shape.rank, a->bytes, b->kind, ox_type_name(b->dtype),
             (int)b->shape.rank, b->bytes);
  if (a->kind == OX_NONE_VALUE) return;
  if (a->kind == OX_SEQUENCE) {
    for (int64_t i = 0; i < a->shape.dim[0]; i++)
      compare(what, output, ((const ox_tensor *const *)a->data)[i], ((const ox_tensor *const *)b->data)[i], tolerance);
  } else if (a->kind != OX_TENSOR) {
    for (int i = 0; i < 2; i++)
      compare(what, output, (const ox_tensor *)a->data + i, (const ox_tensor *)b->data + i, tolerance);
  } else if (a->dtype == OX_STRING) {
    compare_strings(what, output, a, b);
  } else {
    compare_numbers(what, output, a, b, tolerance);
  }
}

void ep_outputs_compare(const char *what, const ep_outputs *want, const ep_outputs *got, double tolerance) {
  assert_int_equal(want->n, got->n);
  for (size_t i = 0; i < want->n; i++)
    compare(what, i, ox_value_get(want->value[i]), ox_value_get(got->value[i]), tolerance);
}

void ep_cpu_outputs(const char *text, uint32_t optimize, int64_t batch, ep_outputs *out) {
  ox_env *env;
  ox_session *s;
  ox_session_opts o;
  ep_inputs in;
  ox_session_opts_init(&o);
  o.optimize = optimize;
  CHECK_OK(ox_env_create(NULL, &env));
  CHECK_OK(text_session(env, text, &o, &s));
  ep_inputs_make(env, s, batch, &in);
  CHECK_OK(ep_run(s, &in, out));
  ep_inputs_free(&in);
  ox_session_release(s);
  ox_env_release(env);
}
