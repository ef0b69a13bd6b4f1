/* SPDX-License-Identifier: Apache-2.0
 * session/thread_count_test.c - a process whose session has n threads has no others. */
#define _GNU_SOURCE
#include <string.h>

#include "base/macros.h"
#include "support/census.h"
#include "support/small_nets.h"
#include "support/text_session.h"

typedef struct {
  const char *text;
  const int64_t *dims;
  uint32_t n[2]; /* of each session; 0: there is none */
} setup;

static bool load_and_run(ox_env *env, const setup *c, uint32_t n) {
  ox_session_opts so;
  ox_session *s;
  const char *name = "x";
  ox_value *x = ramp_value(env, 0, 1e-4f, 2, c->dims), *y[MOST_OUT] = {NULL};
  ox_session_opts_init(&so);
  so.n_threads = n;
  if (text_session(env, c->text, &so, &s)) return false;
  bool well = true;
  for (int i = 0; i < 200 && well; i++) {
    well = !ox_session_run(s, NULL, &name, (const ox_value *const *)&x, 1, NULL, y, ox_session_output_count(s));
    for (size_t k = 0; k < MOST_OUT; k++) ox_value_release(y[k]), y[k] = NULL;
  }
  ox_session_release(s);
  ox_value_release(x);
  return well;
}

static int use(const void *arg) {
  const setup *c = arg;
  ox_env *env;
  if (ox_env_create(NULL, &env)) return 1;
  bool well = true;
  for (size_t i = 0; i < 2 && c->n[i]; i++) well = well && load_and_run(env, c, c->n[i]);
  ox_env_release(env);
  return !well;
}

/* A product that is packed, and then small steps side by side. */
static const int64_t product_dims[] = {256, 256};
static char product[1 << 18];
static void write_product(void) {
  strcpy(product, NET_HEAD "(float[N,256] x) => (float[N,256] y) <float[256,256] w = {");
  char *at = product + strlen(product);
  for (int i = 0; i < 256 * 256; i++) *at++ = '0' + i % 3 % 2, *at++ = ',';
  strcpy(at - 1, "}> { a = MatMul (x, w) b = Relu (a) y = MatMul (b, w) }");
}

static void test_threads(void **state) {
  (void)state;
  static const struct {
    const char *pool; /* ONYX_NUM_THREADS */
    uint32_t n[2];
    int least, most;
  } rows[] = {{"2", {1, 0}, 1, 1}, {"2", {2, 0}, 2, 2}, {"2", {4, 0}, 2, 4}, {"4", {1, 0}, 1, 1}, {"4", {2, 0}, 2, 2},
              {"4", {3, 0}, 2, 3}, {"4", {4, 0}, 2, 4}, {"4", {1, 3}, 2, 3}, {"4", {3, 2}, 2, 3}};
  if (!CAN_COUNT_THREADS) skip();
  static writer w;
  const net *side_by_side = net_named("branches of softmax");
  const int64_t net_dims[] = {side_by_side->rows, side_by_side->columns};
  const setup models[] = {{product, product_dims, {0}}, {net_text(side_by_side, &w), net_dims, {0}}};
  write_product();
  for (size_t i = 0; i < OX_COUNT(rows); i++)
    for (size_t k = 0; k < OX_COUNT(models); k++) {
      setup c = models[k];
      memcpy(c.n, rows[i].n, sizeof c.n);
      setenv("ONYX_NUM_THREADS", rows[i].pool, 1);
      census n = census_take(use, &c);
      int least = k ? 1 : rows[i].least; /* of the product: each loop is worth waking somebody */
      if (n.most > rows[i].most || n.most < least)
        fail_msg("model %zu, sessions of %u and %u in a pool of %s: %d threads, not %d to %d", k, c.n[0], c.n[1],
                 rows[i].pool, n.most, least, rows[i].most);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_threads)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
