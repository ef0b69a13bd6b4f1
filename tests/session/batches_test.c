/* SPDX-License-Identifier: Apache-2.0
 * session/batches_test.c - recurrent cells of one session with changing batches, whose weights take another form for
 * few rows: a row's result stays the same. */
#include <math.h>

#include "base/macros.h"
#include "support/check.h"
#include "support/text_session.h"

#define MODEL(op, gates, w, r)                                                                  \
  "<ir_version: 8, opset_import: [\"\" : 17]> g (float[4,N,24] x) => (float[4,1,N,128] y)"      \
  "<float zero = {0}, float one = {1}, float half = {0.05}, float wn = {" w "}, float rn = {" r \
  "},"                                                                                          \
  " int64[3] ws = {1, " gates ", 24}, int64[3] rs = {1, " gates                                 \
  ", 128}>"                                                                                     \
  "{ wi = Range (zero, wn, one) wz = Sin (wi) wh = Mul (wz, half) wt = Reshape (wh, ws)"        \
  " ri = Range (zero, rn, one) rz = Sin (ri) rh = Mul (rz, half) rt = Reshape (rh, rs)"         \
  " y = " op " <hidden_size = 128> (x, wt, rt) }"

enum { STEPS = 4, INPUT = 24, HIDDEN = 128, MOST_ROWS = 5 };

/* The results of |rows| rows, whose inputs depend on step and row alone. */
static void run(ox_env *env, ox_session *s, int64_t rows, float *to) {
  ox_value *x = ramp_value(env, 0, 0, 3, (int64_t[]){STEPS, rows, INPUT}), *y = NULL;
  float *data = ox_value_data(x);
  for (int64_t i = 0; i < STEPS * rows * INPUT; i++)
    data[i] = (float)((i / INPUT / rows * 31 + i / INPUT % rows * 17 + i % INPUT * 7) % 13) / 13 - 0.5f;
  CHECK_OK(ox_session_run(s, NULL, (const char *const[]){"x"}, (const ox_value *const *)&x, 1, NULL, &y, 1));
  const float *got = ox_value_data(y);
  for (int64_t i = 0; i < STEPS * rows * HIDDEN; i++)
    to[(i / HIDDEN / rows * MOST_ROWS + i / HIDDEN % rows) * HIDDEN + i % HIDDEN] = got[i];
  ox_value_release(x), ox_value_release(y);
}

static void test_rows_stay_the_same(void **state) {
  (void)state;
  static const char *const models[] = {MODEL("LSTM", "512", "12288", "65536"), MODEL("GRU", "384", "9216", "49152"),
                                       MODEL("RNN", "128", "3072", "16384")};
  static const int64_t batches[] = {1, 4, 3, 2, 5, 1};
  for (size_t m = 0; m < OX_COUNT(models); m++) {
    static float want[STEPS * MOST_ROWS * HIDDEN], got[STEPS * MOST_ROWS * HIDDEN];
    ox_env *env;
    ox_session *fresh, *s;
    CHECK_OK(ox_env_create(NULL, &env));
    CHECK_OK(text_session(env, models[m], NULL, &fresh));
    CHECK_OK(text_session(env, models[m], NULL, &s));
    run(env, fresh, MOST_ROWS, want);
    for (size_t b = 0; b < OX_COUNT(batches); b++) {
      run(env, s, batches[b], got);
      for (size_t i = 0; i < OX_COUNT(want); i++) {
        if ((int64_t)(i / HIDDEN % MOST_ROWS) >= batches[b]) continue;
        if (!(fabsf(got[i] - want[i]) <= 1e-5f))
          fail_msg("model %zu, %d rows: [%zu] is %g, wanted %g", m, (int)batches[b], i, (double)got[i],
                   (double)want[i]);
      }
    }
    ox_session_release(fresh), ox_session_release(s);
    ox_env_release(env);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rows_stay_the_same),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
