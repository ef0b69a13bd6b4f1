/* SPDX-License-Identifier: Apache-2.0
 * session/stop_load_test.c - a load or a first run that is stopped while a kernel packs one large constant ends before
 * it has packed all of it, and leaks nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/macros.h"
#include "onyx/onyx.h"
#include "support/added_values.h"

/* What is w... in the text is a constant, of the bytes below. All of them are more than LARGE when they are packed. */
#define MODEL(inputs, results) \
  "<ir_version: 9, opset_import: [\"\" : 20, \"com.microsoft\" : 1]> g (" inputs ") => (" results ") "

enum { MOST_WEIGHTS = 3, LARGE = 4 << 20, PAGE = 4096, UNTOUCHED = 0xa5 };

static const struct {
  const char *name, *text;
  struct {
    uint32_t dtype;
    int64_t dims[4];
  } w[MOST_WEIGHTS]; /* w0, w1, w2 */
} models[] = {
    {"MatMul",
     MODEL("float[1,2000] x, float[2000,3000] w0", "float[1,3000] y") "{ y = MatMul (x, w0) }",
     {{OX_F32, {2000, 3000}}}},
    {"MatMul, many matrices",
     MODEL("float[500,1,100] x, float[500,100,64] w0", "float[500,1,64] y") "{ y = MatMul (x, w0) }",
     {{OX_F32, {500, 100, 64}}}},
    {"MatMul of halves",
     MODEL("float16[1,2000] x, float16[2000,3000] w0", "float16[1,3000] y") "{ y = MatMul (x, w0) }",
     {{OX_F16, {2000, 3000}}}},
    {"Gemm, transposed",
     MODEL("float[1,100000] x, float[40,100000] w0", "float[1,40] y") "{ y = Gemm <transB = 1> (x, w0) }",
     {{OX_F32, {40, 100000}}}},
    {"MatMulInteger",
     MODEL("uint8[1,4000] x, int8[4000,3000] w0", "int32[1,3000] y") "{ y = MatMulInteger (x, w0) }",
     {{OX_I8, {4000, 3000}}}},
    {"Conv",
     MODEL("float[1,512,8,8] x, float[512,512,3,3] w0", "float[1,512,6,6] y") "{ y = Conv (x, w0) }",
     {{OX_F32, {512, 512, 3, 3}}}},
    {"Conv, grouped",
     MODEL("float[1,512,8,8] x, float[2048,64,3,3] w0", "float[1,2048,6,6] y") "{ y = Conv <group = 8> (x, w0) }",
     {{OX_F32, {2048, 64, 3, 3}}}},
    {"ConvTranspose",
     MODEL("float[1,512,8,8] x, float[512,512,3,3] w0", "float[1,512,A,B] y") "{ y = ConvTranspose (x, w0) }",
     {{OX_F32, {512, 512, 3, 3}}}},
    {"ConvInteger",
     MODEL("uint8[1,1024,8,8] x, int8[1024,1024,3,3] w0", "int32[1,1024,6,6] y") "{ y = ConvInteger (x, w0) }",
     {{OX_I8, {1024, 1024, 3, 3}}}},
    {"LSTM",
     MODEL("float[1,1,800] x, float[1,3200,800] w0, float[1,3200,800] w1",
           "float[1,1,1,800] y") "{ y = LSTM <hidden_size = 800> (x, w0, w1) }",
     {{OX_F32, {1, 3200, 800}}, {OX_F32, {1, 3200, 800}}}},
    {"GRU",
     MODEL("float[1,1,800] x, float[1,2400,800] w0, float[1,2400,800] w1",
           "float[1,1,1,800] y") "{ y = GRU <hidden_size = 800> (x, w0, w1) }",
     {{OX_F32, {1, 2400, 800}}, {OX_F32, {1, 2400, 800}}}},
    {"MatMulNBits",
     MODEL("float[1,4096] x, uint8[4096,128,16] w0, float[524288] w1",
           "float[1,4096] y") "{ y = com.microsoft.MatMulNBits <K = 4096, N = 4096, bits = 4, block_size = 32> (x, w0, "
                              "w1) }",
     {{OX_U8, {4096, 128, 16}}, {OX_F32, {524288}}}},
    {"MatMulNBits of 8 bits",
     MODEL("float[1,2048] x, uint8[4096,64,32] w0, float[262144] w1",
           "float[1,4096] y") "{ y = com.microsoft.MatMulNBits <K = 2048, N = 4096, bits = 8, block_size = 32> (x, w0, "
                              "w1) }",
     {{OX_U8, {4096, 64, 32}}, {OX_F32, {262144}}}},
};

static void add_weight(ox_wire_out *o, const char *name, uint32_t dtype, const int64_t *dims, byte_buf *data) {
  size_t n = 1;
  ox_wire_mark t = ox_out_begin(o, OX_GRAPH_PROTO_INITIALIZER);
  for (int d = 0; d < 4 && dims[d]; d++)
    ox_out_varint(o, OX_TENSOR_PROTO_DIMS, (uint64_t)dims[d]), n *= (size_t)dims[d];
  n *= dtype == OX_F32 ? 4 : dtype == OX_F16 ? 2 : 1;
  data->p = malloc(n), data->n = n;
  memset(data->p, 0x11, n);
  ox_out_varint(o, OX_TENSOR_PROTO_DATA_TYPE, dtype);
  ox_out_str(o, OX_TENSOR_PROTO_NAME, name);
  ox_out_bytes(o, OX_TENSOR_PROTO_RAW_DATA, data->p, n);
  ox_out_end(o, t);
}

typedef struct {
  size_t model;
  byte_buf data[MOST_WEIGHTS];
} weights;

static void add_weights(ox_wire_out *o, void *arg) {
  weights *w = arg;
  for (size_t k = 0; k < MOST_WEIGHTS && models[w->model].w[k].dtype; k++)
    add_weight(o, (const char *[]){"w0", "w1", "w2"}[k], models[w->model].w[k].dtype, models[w->model].w[k].dims,
               &w->data[k]);
}

/* The text's model, with its weights at the end of the graph. */
static byte_buf model_bytes(size_t i) {
  weights w = {.model = i};
  byte_buf b = bytes_with_values(models[i].text, add_weights, &w);
  for (size_t k = 0; k < MOST_WEIGHTS; k++) byte_buf_free(&w.data[k]);
  return b;
}

/* An allocator that cancels when it is asked for a large block, and finds out how much of it was written. */
typedef struct {
  counting_alloc count;
  bool cancels;
  int flag;
  int64_t set_ns;
  double least_written; /* of a large block, from 0 to 1 */
} watcher;

static void *watching_alloc(void *ctx, size_t bytes, size_t align) {
  watcher *w = ctx;
  void *p = counting_alloc_fn(&w->count, bytes, align);
  if (bytes < LARGE || !p) return p;
  memset(p, UNTOUCHED, bytes);
  if (w->cancels && !__atomic_exchange_n(&w->flag, 1, __ATOMIC_RELAXED)) w->set_ns = ox_clock_ns();
  return p;
}

static void watching_free(void *ctx, void *p, size_t bytes) {
  watcher *w = ctx;
  size_t pages = 0, written = 0;
  for (size_t at = 0; p && bytes >= LARGE && at < bytes; at += PAGE, pages++) {
    size_t n = OX_MIN(bytes - at, (size_t)PAGE), i = 0;
    while (i < n && ((unsigned char *)p)[at + i] == UNTOUCHED) i++;
    written += i < n;
  }
  if (pages) w->least_written = OX_MIN(w->least_written, (double)written / (double)pages);
  counting_free_fn(&w->count, p, bytes);
}

static ox_status *load(watcher *w, const byte_buf *b, ox_env **env, ox_session **s) {
  ox_env_opts eo = {.struct_size = sizeof eo, .alloc = {watching_alloc, watching_free, w}};
  ox_session_opts so;
  ox_session_opts_init(&so);
  so.cancel = &w->flag, so.n_threads = 1; /* with more, some of their scratch stays as it is */
  CHECK_OK(ox_env_create(&eo, env));
  return ox_session_create(*env, b->p, b->n, &so, s);
}

/* On zeros. */
static ox_status *first_run(watcher *w, ox_env *env, const ox_session *s) {
  const ox_run_opts ro = {.struct_size = sizeof ro, .cancel = &w->flag};
  ox_value_info info;
  ox_value *in, *out = NULL;
  CHECK_OK(ox_session_input(s, 0, &info));
  CHECK_OK(ox_value_create(env, info.dtype, info.dims, (size_t)info.rank, &in));
  ox_status *st = ox_session_run((ox_session *)s, &ro, &info.name, (const ox_value *const *)&in, 1, NULL, &out, 1);
  ox_value_release(in);
  ox_value_release(out);
  return st;
}

static void test_it_ends_while_it_packs(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(models); i++) {
    byte_buf b = model_bytes(i);
    for (int cancels = 0; cancels < 2; cancels++) {
      watcher w = {.count = {.fail_at = -1}, .cancels = cancels, .least_written = 2};
      ox_env *env;
      ox_session *s;
      ox_status *st = load(&w, &b, &env, &s);
      if (!st) st = first_run(&w, env, s);
      int64_t end = ox_clock_ns();
      if (ox_status_code(st) != (cancels ? OX_CANCELLED : OX_OK))
        fail_msg("%s: %s \"%s\"", models[i].name, ox_code_name(ox_status_code(st)), ox_status_message(st));
      if (cancels) print_message("%-24s %6.2f ms late\n", models[i].name, (double)(end - w.set_ns) / 1e6);
      ox_status_free(st);
      ox_session_release(s);
      ox_env_release(env);
      assert_int_equal(w.count.live, 0);
      /* packed bytes leave up to a fifth of their memory for extra quads (gemm_i8.h) */
      double least = models[i].w[0].dtype == OX_I8 ? 0.78 : 0.9;
      if (cancels ? w.least_written > 0.5 : w.least_written < least)
        fail_msg("%s: %.0f %% was packed, %s", models[i].name, w.least_written * 100, cancels ? "cancelled" : "not");
    }
    byte_buf_free(&b);
  }
}

/* ---- an operator of the caller's ---- */

typedef struct {
  int flag, looks, unloads;
} own;

static ox_status *own_infer(ox_infer_ctx *c) {
  own *o = c->user;
  c->out[0] = *c->in[0];
  o->looks += !c->host->stopped(c->host_data);
  return NULL;
}

static ox_status *own_load(ox_load_ctx *c) {
  own *o = c->user;
  c->state = o;
  if (c->host->stopped(c->host_data)) return c->host->status_make(OX_FAIL, "stopped before");
  o->flag = 1;
  if (!c->host->stopped(c->host_data)) return c->host->status_make(OX_FAIL, "not stopped");
  return NULL;
}

static void own_unload(void *state, ox_alloc alloc) {
  (void)alloc;
  ((own *)state)->unloads++;
}

static ox_status *own_run(const ox_kernel_ctx *c, uint32_t stage, ox_range tiles, void *scratch) {
  (void)c, (void)stage, (void)tiles, (void)scratch;
  return NULL;
}

static void test_an_operator_of_a_plug_in_is_told(void **state) {
  (void)state;
  own o = {0};
  const ox_op op[] = {{OX_SCHEMA(.name = "Own", .domain = "me", .since = 1, .min_in = 1, .max_in = 1,
                                 .types = {OX_BIT(OX_F32)}, .infer = own_infer, .user = &o),
                       OX_KERNEL(.load = own_load, .unload = own_unload, .run = own_run)}};
  byte_buf b = bytes_of_text(
      "<ir_version: 9, opset_import: [\"\" : 20, \"me\" : 1]> g (float[2] x) => (float[2] y) "
      "{ y = me.Own (x) }");
  ox_env *env;
  ox_session *s;
  ox_session_opts so;
  ox_session_opts_init(&so);
  so.cancel = &o.flag, so.ops = op, so.n_ops = OX_COUNT(op);
  CHECK_OK(ox_env_create(NULL, &env));
  CHECK_FAILS(ox_session_create(env, b.p, b.n, &so, &s), OX_CANCELLED, "cancelled by the caller");
  assert_null(s);
  assert_int_equal(o.unloads, 1);
  assert_true(o.looks > 0);
  ox_env_release(env);
  byte_buf_free(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_it_ends_while_it_packs),
                                     cmocka_unit_test(test_an_operator_of_a_plug_in_is_told)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
