/* SPDX-License-Identifier: Apache-2.0
 * ep/provider_test.c - a stranger's provider beside the CPU's: order, claims, fall-back, failures by name, tables that
 * do not fit. */
#include <stdatomic.h>
#include <string.h>

#include "ep/host.h"
#include "support/check.h"
#include "support/counting_alloc.h"
#include "support/text_session.h"

/* Takes every Relu of float32 and computes -7 instead, so that its work shows; fails where an option says so. */
struct ox_ep {
  ox_ep_host host;
  const char *fail_in;
};

static atomic_int live_kernels, live_providers;

static bool told_to_fail(const ox_ep *ep, const char *where) { return ep->fail_in && strcmp(ep->fail_in, where) == 0; }

static ox_status *create(const ox_ep_host *host, const ox_options *opts, ox_ep **out_ep) {
  ox_ep *ep = host->alloc.alloc(host->alloc.ctx, sizeof *ep, 16);
  *out_ep = NULL;
  if (!ep) return host->status_make(OX_OUT_OF_MEMORY, "out of memory");
  *ep = (ox_ep){*host, NULL};
  for (uint32_t i = 0; opts && i < opts->n; i++)
    if (strcmp(opts->keys[i], "fail") == 0) ep->fail_in = opts->values[i];
  if (told_to_fail(ep, "create")) {
    host->alloc.free(host->alloc.ctx, ep, sizeof *ep);
    return host->status_make(OX_FAIL, "told to fail in create");
  }
  atomic_fetch_add(&live_providers, 1);
  *out_ep = ep;
  return NULL;
}

static void destroy(ox_ep *ep) {
  if (!ep) return;
  atomic_fetch_sub(&live_providers, 1);
  ep->host.alloc.free(ep->host.alloc.ctx, ep, sizeof *ep);
}

static ox_status *claim(ox_ep *ep, const ox_graph_view *g, ox_claims *claims) {
  if (told_to_fail(ep, "claim")) return ep->host.status_make(OX_FAIL, "told to fail in claim");
  for (size_t i = 0; i < ep->host.node_count(g); i++) {
    uint32_t kind, dtype;
    ox_shape shape;
    ep->host.value_type(g, ep->host.node_out(g, i, 0), &kind, &dtype, &shape);
    if (strcmp(ep->host.node_op(g, i), "Relu") == 0 && dtype == OX_F32)
      ep->host.claim_node(claims, i);
    else
      ep->host.decline(claims, i, "only Relu of float32");
  }
  return NULL;
}

typedef struct {
  ox_kernel base;
  ox_ep *ep;
} kernel;

static ox_status *prepare(ox_kernel *k, ox_kernel_ctx *c) {
  const ox_ep *ep = ((kernel *)k)->ep;
  c->n_stages = 1, c->n_tiles[0] = 1;
  return told_to_fail(ep, "prepare") ? ep->host.status_make(OX_FAIL, "told to fail in prepare") : NULL;
}

static ox_status *run(ox_kernel *k, const ox_kernel_ctx *c, uint32_t stage, int64_t begin, int64_t end, void *scratch) {
  const ox_ep *ep = ((kernel *)k)->ep;
  (void)stage, (void)begin, (void)end, (void)scratch;
  for (size_t i = 0; i < c->out[0]->bytes / 4; i++) ((float *)c->out[0]->data)[i] = -7;
  return told_to_fail(ep, "run") ? ep->host.status_make(OX_FAIL, "told to fail in run") : NULL;
}

static void release(ox_kernel *k) {
  const ox_ep *ep = ((kernel *)k)->ep;
  atomic_fetch_sub(&live_kernels, 1);
  ep->host.alloc.free(ep->host.alloc.ctx, k, sizeof(kernel));
}

static const ox_kernel_api kernel_api = {
    .struct_size = sizeof kernel_api, .prepare = prepare, .run = run, .release = release};

static ox_status *kernel_create(ox_ep *ep, const ox_graph_view *g, size_t node, ox_kernel **out_kernel) {
  (void)g, (void)node;
  *out_kernel = NULL;
  if (told_to_fail(ep, "kernel")) return ep->host.status_make(OX_FAIL, "told to fail in kernel");
  kernel *k = ep->host.alloc.alloc(ep->host.alloc.ctx, sizeof *k, 16);
  if (!k) return ep->host.status_make(OX_OUT_OF_MEMORY, "out of memory");
  *k = (kernel){{&kernel_api, 0}, ep};
  atomic_fetch_add(&live_kernels, 1);
  *out_kernel = &k->base;
  return NULL;
}

static const ox_ep_api seven = {.struct_size = sizeof(ox_ep_api),
                                .abi_major = OX_EP_ABI_MAJOR,
                                .name = "seven",
                                .create = create,
                                .destroy = destroy,
                                .claim = claim,
                                .kernel_create = kernel_create};

static const char *const text =
    "<ir_version: 8, opset_import: [\"\" : 17]> g (float[4] x) => (float[4] y) { a = Abs (x) b = Relu (a) y = Neg (b) "
    "}";

static ox_status *run_model(const char *first, const char *second, const char *fail_in, float *out_first) {
  counting_alloc count = {.fail_at = -1};
  ox_env_opts eo = {.struct_size = sizeof eo, .alloc = counting_alloc_of(&count)};
  const char *key = "fail";
  ox_provider_spec specs[2] = {{first, {fail_in ? 1 : 0, &key, &fail_in}}, {second, {0, NULL, NULL}}};
  ox_session_opts so;
  ox_env *env;
  ox_session *s = NULL;
  ox_value *out = NULL;
  const char *name = "x";
  const int64_t dims[] = {4};
  ox_session_opts_init(&so);
  so.optimize = OX_OPTIMIZE_NONE, so.providers = specs, so.n_providers = second ? 2 : 1;
  CHECK_OK(ox_env_create(&eo, &env));
  CHECK_OK(ox_env_add_provider(env, &seven));
  ox_value *x = ramp_value(env, 1, 1, 1, dims);
  ox_status *st = text_session(env, text, &so, &s);
  if (!st) st = ox_session_run(s, NULL, &name, (const ox_value *const *)&x, 1, NULL, &out, 1);
  if (!st) *out_first = (float)ox_tensor_element(ox_value_get(out), 0);
  ox_value_release(x);
  ox_value_release(out);
  ox_session_release(s);
  ox_env_release(env);
  assert_int_equal(atomic_load(&count.live), 0);
  assert_int_equal(atomic_load(&live_kernels), 0);
  assert_int_equal(atomic_load(&live_providers), 0);
  return st;
}

static void test_order_decides(void **state) {
  (void)state;
  float y;
  CHECK_OK(run_model("seven", NULL, NULL, &y));
  assert_true(y == 7);
  CHECK_OK(run_model("cpu", "seven", NULL, &y));
  assert_true(y == -1);
  CHECK_OK(run_model("null", "seven", NULL, &y));
  assert_true(y == 7);
}

static void test_every_failure_is_reported(void **state) {
  (void)state;
  static const char *const places[] = {"create", "claim", "kernel", "prepare", "run"};
  float y;
  for (size_t i = 0; i < OX_COUNT(places); i++)
    CHECK_FAILS(run_model("seven", NULL, places[i], &y), OX_FAIL, places[i]);
  CHECK_FAILS(run_model("nobody", NULL, NULL, &y), OX_INVALID_ARGUMENT, "'nobody'");
}

static void test_tables_are_checked(void **state) {
  (void)state;
  ox_env *env;
  CHECK_OK(ox_env_create(NULL, &env));
  ox_ep_api bad = seven;
  bad.abi_major = OX_EP_ABI_MAJOR + 1;
  CHECK_FAILS(ox_env_add_provider(env, &bad), OX_INCOMPATIBLE, "ABI 2");
  bad = seven, bad.struct_size = 16;
  CHECK_FAILS(ox_env_add_provider(env, &bad), OX_INCOMPATIBLE, "16 bytes");
  bad = seven, bad.claim = NULL;
  CHECK_FAILS(ox_env_add_provider(env, &bad), OX_INCOMPATIBLE, "required");
  bad = seven, bad.kernel_create = NULL;
  CHECK_FAILS(ox_env_add_provider(env, &bad), OX_INCOMPATIBLE, "neither kernels nor");
  bad = seven, bad.name = "cpu";
  CHECK_FAILS(ox_env_add_provider(env, &bad), OX_INVALID_ARGUMENT, "already");
  CHECK_FAILS(ox_env_add_provider(env, NULL), OX_INVALID_ARGUMENT, "NULL");
  CHECK_FAILS(ox_env_load_plugin(env, "/no/such/file.so"), OX_NO_SUCH_FILE, "file.so");
  ox_env_release(env);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_order_decides),
                                     cmocka_unit_test(test_every_failure_is_reported),
                                     cmocka_unit_test(test_tables_are_checked)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
