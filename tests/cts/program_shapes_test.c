/* SPDX-License-Identifier: Apache-2.0
 * cts/program_shapes_test.c - what a program learns of the shapes inside its part: those that the run then finds. */
#include <stdio.h>
#include <string.h>

#include "base/macros.h"
#include "support/check.h"
#include "support/echo_ep.h"
#include "support/ep_models.h"
#include "support/text_session.h"

static struct {
  ox_ep_host host;
  const ox_graph_view *part;
  ox_shape shapes[64]; /* of the last run */
} seen;

static ox_status *create(const ox_ep_host *host, const ox_options *opts, ox_ep **out_ep) {
  seen.host = *host;
  return echo_ep()->create(host, opts, out_ep);
}

static ox_status *compile(ox_ep *ep, const ox_graph_view *part, ox_program **out_program) {
  seen.part = part;
  return echo_ep()->compile(ep, part, out_program);
}

static ox_status *run(ox_program *p, const ox_io *io) {
  size_t n = seen.host.value_count(seen.part);
  assert_in_range(n, 1, 63);
  seen.shapes[n].rank = 77;
  ox_status *st = io->infer_shapes(io, seen.shapes, n);
  assert_int_equal(seen.shapes[n].rank, 77);
  return st ? st : echo_ep()->run(p, io);
}

enum { N = -7 }; /* the batch */

/* "b" lies inside the part. */
static const struct {
  const char *name, *body;
  ox_shape want;
} cases[] = {
    {"the batch", "a = Neg (x) b = Concat <axis = 1> (a, a, a) y = Exp (a) z = Exp (b)", {2, {N, 12}}},
    {"a scalar", "b = ReduceSum <keepdims = 0> (x) y = Add (b, x) z = Neg (b)", {0, {0}}},
    {"only the run tells", "a = Abs (x) b = NonZero (a) y = Neg (a) z = Cast <to = 1> (b)", {2, {2, -1}}},
};
static const int64_t batches[] = {0, 1, 5, 3}; /* of one session, one after the other */

static void run_batch(ox_env *env, ox_session *s, size_t i, int64_t batch) {
  ep_inputs in;
  ep_outputs out;
  ox_shape got = {.rank = -9};
  ep_inputs_make(env, s, batch, &in);
  CHECK_OK(ep_run(s, &in, &out));
  for (uint32_t v = 0; v < seen.host.value_count(seen.part); v++)
    if (strcmp(seen.host.value_name(seen.part, v), "b") == 0) got = seen.shapes[v];
  if (got.rank != cases[i].want.rank) fail_msg("%s: rank %d", cases[i].name, got.rank);
  for (int d = 0; d < got.rank; d++) {
    int64_t want = cases[i].want.dim[d] == N ? batch : cases[i].want.dim[d];
    if (got.dim[d] != want) fail_msg("%s: dimension %d is %ld", cases[i].name, d, (long)got.dim[d]);
  }
  ep_outputs_free(&out);
  ep_inputs_free(&in);
}

static void shapes_inside_a_part(void **state) {
  static const char *const keys[] = {"as"}, *const values[] = {"programs"};
  const ox_provider_spec spec = {"echo", {1, keys, values}};
  (void)state;
  for (size_t i = 0; i < OX_COUNT(cases); i++) {
    char text[512];
    ox_ep_api api = *echo_ep();
    ox_env *env;
    ox_session *s;
    ox_session_opts so;
    snprintf(text, sizeof text,
             "<ir_version: 8, opset_import: [\"\" : 17]> g (float[N,4] x) => (float[M,4] y, float[?] z) { %s }",
             cases[i].body);
    api.create = create, api.compile = compile, api.run = run;
    ox_session_opts_init(&so);
    so.optimize = OX_OPTIMIZE_NONE, so.providers = &spec, so.n_providers = 1;
    CHECK_OK(ox_env_create(NULL, &env));
    CHECK_OK(ox_env_add_provider(env, &api));
    CHECK_OK(text_session(env, text, &so, &s));
    for (size_t k = 0; k < OX_COUNT(batches); k++) run_batch(env, s, i, batches[k]);
    ox_session_release(s);
    ox_env_release(env);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(shapes_inside_a_part)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
