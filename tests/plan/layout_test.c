/* SPDX-License-Identifier: Apache-2.0
 * plan/layout_test.c - a provider that wants channels last: where the transposes are, what remains when it changes its
 * mind, and that results are the CPU's. */
#include "plan/layout.h"

#include <string.h>

#include "base/macros.h"
#include "support/check.h"
#include "support/text_session.h"

/* Relu and GlobalAveragePool with channels last, naively. */
struct ox_ep {
  ox_ep_host host;
  const char *only; /* the one operator that it still claims when asked with channels last; NULL: both */
};

static ox_status *create(const ox_ep_host *host, const ox_options *opts, ox_ep **out_ep) {
  ox_ep *ep = *out_ep = host->alloc.alloc(host->alloc.ctx, sizeof *ep, 16);
  if (!ep) return host->status_make(OX_OUT_OF_MEMORY, "out of memory");
  *ep = (ox_ep){*host, opts && opts->n ? opts->values[0] : NULL};
  return NULL;
}

static void destroy(ox_ep *ep) {
  if (ep) ep->host.alloc.free(ep->host.alloc.ctx, ep, sizeof *ep);
}

static bool is(const char *op, const char *name) { return strcmp(op, name) == 0; }

static ox_status *claim(ox_ep *ep, const ox_graph_view *g, ox_claims *claims) {
  for (size_t i = 0; i < ep->host.node_count(g); i++) {
    const char *op = ep->host.node_op(g, i);
    bool mine = is(op, "Relu") || is(op, "GlobalAveragePool"), last = is(ep->host.node_domain(g, i), OX_NHWC_DOMAIN);
    if (mine && !(last && ep->only && !is(op, ep->only)))
      ep->host.claim_node(claims, i);
    else
      ep->host.decline(claims, i, "not mine");
  }
  return NULL;
}

static uint32_t layout(ox_ep *ep, const char *domain, const char *op) {
  (void)ep, (void)domain;
  return is(op, "Relu") || is(op, "GlobalAveragePool") ? OX_LAYOUT_NHWC : OX_LAYOUT_NCHW;
}

typedef struct {
  ox_kernel base;
  const ox_ep *ep;
  bool pool;
} kernel;

static ox_status *prepare(ox_kernel *k, ox_kernel_ctx *c) {
  (void)k, (void)c;
  return NULL;
}

static ox_status *run(ox_kernel *base, const ox_kernel_ctx *c, uint32_t stage, int64_t begin, int64_t end,
                      void *scratch) {
  const ox_shape *s = &c->in[0]->shape;
  const float *x = c->in[0]->data;
  float *y = c->out[0]->data;
  (void)stage, (void)begin, (void)end, (void)scratch;
  if (!((kernel *)base)->pool) {
    for (size_t i = 0; i < c->in[0]->bytes / 4; i++) y[i] = x[i] > 0 ? x[i] : 0;
    return NULL;
  }
  int64_t channels = s->dim[s->rank - 1], pixels = 1;
  for (int d = 1; d + 1 < s->rank; d++) pixels *= s->dim[d];
  for (int64_t n = 0; n < s->dim[0]; n++)
    for (int64_t k = 0; k < channels; k++) {
      double sum = 0;
      for (int64_t i = 0; i < pixels; i++) sum += (double)x[(n * pixels + i) * channels + k];
      y[n * channels + k] = (float)(sum / (double)pixels);
    }
  return NULL;
}

static void release(ox_kernel *k) {
  const ox_ep *ep = ((kernel *)k)->ep;
  ep->host.alloc.free(ep->host.alloc.ctx, k, sizeof(kernel));
}

static const ox_kernel_api kernel_api = {
    .struct_size = sizeof kernel_api, .prepare = prepare, .run = run, .release = release};

static ox_status *kernel_create(ox_ep *ep, const ox_graph_view *g, size_t node, ox_kernel **out_kernel) {
  kernel *k = ep->host.alloc.alloc(ep->host.alloc.ctx, sizeof *k, 16);
  if (!k) return ep->host.status_make(OX_OUT_OF_MEMORY, "out of memory");
  *k = (kernel){{&kernel_api, 0}, ep, is(ep->host.node_op(g, node), "GlobalAveragePool")};
  *out_kernel = &k->base;
  return NULL;
}

static const ox_option_def options[] = {{"only", OX_OPTION_STRING, NULL, "all", "what it claims with channels last"}};

static const ox_ep_api last_ep = {.struct_size = sizeof last_ep,
                                  .abi_major = OX_EP_ABI_MAJOR,
                                  .name = "last",
                                  .create = create,
                                  .destroy = destroy,
                                  .claim = claim,
                                  .kernel_create = kernel_create,
                                  .options = options,
                                  .n_options = 1,
                                  .layout = layout};

/* ---- the models ---- */

#define MODEL(in, out, body) \
  "<ir_version: 8, opset_import: [\"\" : 17]> g (float[" in "] x) => (float[" out "] y) {" body "}"

static const struct {
  const char *name, *text, *only;
  int64_t dims[5];
  size_t rank, transposes, last;
} rows[] = {
    {"one", MODEL("2,3,4,5", "2,3,4,5", "y = Relu (x)"), NULL, {2, 3, 4, 5}, 4, 2, 1},
    {"two in a row",
     MODEL("2,3,4,5", "2,3,1,1", "a = Relu (x) y = GlobalAveragePool (a)"),
     NULL,
     {2, 3, 4, 5},
     4,
     2,
     2},
    {"rank 3", MODEL("2,3,4", "2,3,1", "a = Relu (x) y = GlobalAveragePool (a)"), NULL, {2, 3, 4}, 3, 2, 2},
    {"rank 5", MODEL("1,2,3,4,5", "1,2,1,1,1", "y = GlobalAveragePool (x)"), NULL, {1, 2, 3, 4, 5}, 5, 2, 1},
    {"two readers",
     MODEL("1,2,3,4", "1,2,3,4", "a = Relu (x) b = GlobalAveragePool (a) c = Relu (a) y = Add (b, c)"),
     NULL,
     {1, 2, 3, 4},
     4,
     3,
     3},
    {"read as it was, too",
     MODEL("1,2,3,4", "1,2,3,4", "a = Relu (x) b = GlobalAveragePool (a) y = Add (a, b)"),
     NULL,
     {1, 2, 3, 4},
     4,
     3,
     2},
    {"a symbol", MODEL("n,3,4,5", "n,3,1,1", "a = Relu (x) y = GlobalAveragePool (a)"), NULL, {2, 3, 4, 5}, 4, 2, 2},
    {"rank 2 has no channels", MODEL("2,3", "2,3", "y = Relu (x)"), NULL, {2, 3}, 2, 0, 0},
    {"in a body",
     MODEL("1,2,3,4", "1,2,3,4",
           "c = Constant <value_int = 1> () d = Cast <to = 9> (c) y = If (d) <then_branch = t () => (float[1,2,3,4] "
           "u) { u = Relu (x) }, else_branch = e () => (float[1,2,3,4] v) { v = Neg (x) }>"),
     NULL,
     {1, 2, 3, 4},
     4,
     2,
     1},
    {"declined the second time",
     MODEL("2,3,4,5", "2,3,1,1", "a = Relu (x) y = GlobalAveragePool (a)"),
     "Relu",
     {2, 3, 4, 5},
     4,
     4,
     1},
};

static ox_value *run_on(const char *provider, size_t row, size_t *out_transposes, size_t *out_last) {
  ox_env *env;
  ox_session *s;
  ox_value *out = NULL;
  ox_placement p;
  const char *name = "x", *key = "only";
  const ox_provider_spec spec = {provider, {rows[row].only && provider ? 1 : 0, &key, &rows[row].only}};
  ox_session_opts o;
  ox_session_opts_init(&o);
  o.optimize = OX_OPTIMIZE_NONE;
  if (provider) o.providers = &spec, o.n_providers = 1;
  CHECK_OK(ox_env_create(NULL, &env));
  CHECK_OK(ox_env_add_provider(env, &last_ep));
  CHECK_OK(text_session(env, rows[row].text, &o, &s));
  ox_value *x = ramp_value(env, -7, 0.5f, rows[row].rank, rows[row].dims);
  CHECK_OK(ox_session_run(s, NULL, &name, (const ox_value *const *)&x, 1, NULL, &out, 1));
  *out_transposes = *out_last = 0;
  for (size_t i = 0; ox_session_placement(s, i, &p); i++) {
    *out_transposes += is(p.op, "Transpose");
    *out_last += is(p.domain, OX_NHWC_DOMAIN) && is(p.owner, "last");
  }
  ox_value_release(x);
  ox_session_release(s);
  ox_env_release(env);
  return out;
}

static void test_results_and_transposes(void **state) {
  (void)state;
  for (size_t i = 0; i < OX_COUNT(rows); i++) {
    size_t transposes, last, none;
    ox_value *want = run_on(NULL, i, &none, &none), *got = run_on("last", i, &transposes, &last);
    const ox_tensor *a = ox_value_get(want), *b = ox_value_get(got);
    if (transposes != rows[i].transposes || last != rows[i].last)
      fail_msg("%s: %zu transposes and %zu with channels last", rows[i].name, transposes, last);
    assert_memory_equal(a->shape.dim, b->shape.dim, (size_t)a->shape.rank * sizeof(int64_t));
    for (int64_t k = 0; k < ox_tensor_count(a); k++)
      if (!(ox_tensor_element(a, k) - ox_tensor_element(b, k) < 1e-5 &&
            ox_tensor_element(b, k) - ox_tensor_element(a, k) < 1e-5))
        fail_msg("%s: element %lld", rows[i].name, (long long)k);
    ox_value_release(want);
    ox_value_release(got);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_results_and_transposes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
