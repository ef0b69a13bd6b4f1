/* SPDX-License-Identifier: Apache-2.0
 * ops/quant_order_test.c - com.microsoft's QOrdered operators against doubles on matrices whose orders are listed here
 * element by element, as they lie in memory. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/typed.h"

enum { COL, ROW, COL32, COL4_4R2_8C, COL32_2R_4R4, MOST = 64 * 96 };

/* place[r * cols + c] = where it lies: memory is walked from its start. */
static void places(int order, int rows, int cols, int *place) {
  int at = 0;
  if (order == ROW || order == COL) {
    for (int i = 0; i < rows * cols; i++) place[order == ROW ? i : i % rows * cols + i / rows] = at++;
    return;
  }
  for (int c = 0; c < cols; c += 32) {
    for (int r = 0; r < rows && order == COL32; r++)
      for (int j = 0; j < 32; j++) place[r * cols + c + j] = at++;
    for (int r = 0; r < rows && order == COL4_4R2_8C; r += 8)
      for (int odd = 0; odd < 2; odd++)
        for (int j = 0; j < 32; j += 4)
          for (int i = 0; i < 4; i++)
            for (int k = 0; k < 4; k++) place[(r + 2 * i + odd) * cols + c + j + k] = at++;
    for (int r = 0; r < rows && order == COL32_2R_4R4; r += 32)
      for (int pair = 0; pair < 8; pair += 2)
        for (int eight = 0; eight < 32; eight += 8)
          for (int i = 0; i < 2; i++)
            for (int j = 0; j < 32; j++) place[(r + eight + pair + i) * cols + c + j] = at++;
  }
}

static int8_t byte_of(double v) {
  double r = nearbyint(v);
  return (int8_t)(r < -128 ? -128 : r > 127 ? 127 : r);
}

/* Rounding in float may go the other way where |v| is nearly between two bytes. */
static void near_byte(int got, double v, const char *what, int at) {
  double off = v - floor(v) - 0.5;
  if (abs(got - byte_of(v)) > (fabs(off) < 1e-3)) fail_msg("%s: [%d] is %d, wanted %.9g", what, at, got, v);
}

static void input_scale(one_node *n, float scale) { one_node_input(n, OX_F32, 0, NULL, &scale); }

static void fill(int8_t *x, int n, int step) {
  for (int i = 0; i < n; i++) x[i] = (int8_t)(i * step % 251 - 120);
}

/* ---- QuantizeWithOrder, DequantizeWithOrder ---- */

static void check_order(int from, int to, uint32_t dtype) {
  enum { BATCH = 2, ROWS = 64, COLS = 64, N = ROWS * COLS };
  static int in[MOST], out[MOST];
  const float scale = 0.03f;
  one_node q, d;
  places(from, ROWS, COLS, in), places(to, ROWS, COLS, out);
  one_node_init(&q, "com.microsoft", "QuantizeWithOrder", 1, 1);
  one_node_init(&d, "com.microsoft", "DequantizeWithOrder", 1, 1);
  one_node_int(&q, "order_input", from), one_node_int(&q, "order_output", to);
  one_node_int(&d, "order_input", to), one_node_int(&d, "order_output", from), one_node_int(&d, "to", dtype);
  const ox_tensor *x = typed_input(&q, dtype, 3, (int64_t[]){BATCH, ROWS, COLS}, 4.5);
  input_scale(&q, scale);
  CHECK_OK(one_node_run(&q));
  const int8_t *y = q.out[0].data;
  one_node_input(&d, OX_I8, 3, x->shape.dim, y);
  input_scale(&d, scale);
  CHECK_OK(one_node_run(&d));
  assert_int_equal(d.out[0].dtype, dtype);
  for (int i = 0; i < BATCH * N; i++) {
    int a = i / N * N + in[i % N], b = i / N * N + out[i % N];
    near_byte(y[b], typed_at(x, a) / (double)scale, "quantized", i);
    typed_near(&d.out[0], a, y[b] * (double)scale, 1);
  }
  one_node_deinit(&q), one_node_deinit(&d);
}

static void test_orders(void **state) {
  (void)state;
  for (int from = COL; from <= COL32_2R_4R4; from++)
    for (int to = COL; to <= COL32_2R_4R4; to++) check_order(from, to, (from + to) & 1 ? OX_F16 : OX_F32);
}

/* ---- QOrderedGelu, QOrderedLayerNormalization ---- */

static void test_gelu(void **state) {
  (void)state;
  int8_t x[300];
  one_node n;
  fill(x, 300, 1);
  one_node_init(&n, "com.microsoft", "QOrderedGelu", 1, 1);
  one_node_input(&n, OX_I8, 2, (int64_t[]){3, 100}, x);
  input_scale(&n, 0.05f), input_scale(&n, 0.04f);
  CHECK_OK(one_node_run(&n));
  for (int i = 0; i < 300; i++) {
    double v = x[i] * (double)0.05f;
    near_byte(((const int8_t *)n.out[0].data)[i], v * 0.5 * (1 + erf(v / sqrt(2))) / (double)0.04f, "gelu", i);
  }
  one_node_deinit(&n);
}

static void check_layer(int order, uint32_t dtype, bool beta) {
  enum { ROWS = 5, COLS = 96 };
  static int place[MOST];
  static int8_t x[2 * ROWS * COLS];
  one_node n;
  fill(x, 2 * ROWS * COLS, 37), places(order, ROWS, COLS, place);
  one_node_init(&n, "com.microsoft", "QOrderedLayerNormalization", 1, 1);
  one_node_int(&n, "order_X", order), one_node_int(&n, "order_Y", order);
  one_node_input(&n, OX_I8, 3, (int64_t[]){2, ROWS, COLS}, x);
  input_scale(&n, 0.5f);
  const ox_tensor *gamma = typed_input(&n, dtype, 1, (int64_t[]){COLS}, 2), *b = NULL;
  if (beta)
    b = typed_input(&n, dtype, 1, (int64_t[]){COLS}, 1);
  else
    one_node_input(&n, dtype, -1, NULL, NULL);
  input_scale(&n, 0.02f);
  CHECK_OK(one_node_run(&n));
  for (int r = 0; r < 2 * ROWS; r++) {
    const int *at = place + r % ROWS * COLS;
    int base = r / ROWS * ROWS * COLS;
    double mean = 0, var = 0;
    for (int i = 0; i < COLS; i++) mean += x[base + at[i]] * 0.5 / COLS;
    for (int i = 0; i < COLS; i++) var += pow(x[base + at[i]] * 0.5 - mean, 2) / COLS;
    for (int i = 0; i < COLS; i++) {
      double v = (x[base + at[i]] * 0.5 - mean) / sqrt(var + 1e-5) * typed_at(gamma, i) + (b ? typed_at(b, i) : 0);
      near_byte(((const int8_t *)n.out[0].data)[base + at[i]], v / (double)0.02f, "layer norm", i);
    }
  }
  one_node_deinit(&n);
}

static void test_layers(void **state) {
  (void)state;
  check_layer(ROW, OX_F32, true), check_layer(COL32, OX_F16, true);
  check_layer(COL32, OX_F32, false), check_layer(COL, OX_F32, true);
}

/* ---- QOrderedMatMul ---- */

static void check_matmul(int order_a, int order_b, int m, int k, int n, bool bias, bool add, bool per_column) {
  enum { BATCH = 2 };
  static int pa[MOST], pb[MOST], py[MOST];
  static int8_t a[BATCH * MOST], b[MOST], c[MOST];
  bool turned = order_b >= COL4_4R2_8C;
  one_node node;
  places(order_a, m, k, pa), places(order_a, m, n, py);
  places(order_b, turned ? n : k, turned ? k : n, pb);
  fill(a, BATCH * m * k, 37), fill(b, k * n, 91), fill(c, m * n, 53);
  one_node_init(&node, "com.microsoft", "QOrderedMatMul", 1, 1);
  one_node_int(&node, "order_A", order_a), one_node_int(&node, "order_B", order_b);
  one_node_int(&node, "order_Y", order_a);
  one_node_input(&node, OX_I8, 3, (int64_t[]){BATCH, m, k}, a), input_scale(&node, 0.02f);
  one_node_input(&node, OX_I8, 2, (int64_t[]){k, n}, b);
  const ox_tensor *scale = typed_input(&node, OX_F32, per_column, (int64_t[]){n}, 0.05);
  input_scale(&node, 0.7f);
  const ox_tensor *v = bias ? typed_input(&node, OX_F32, 1, (int64_t[]){n}, 20) : NULL;
  if (add) {
    if (!bias) one_node_input(&node, OX_F32, -1, NULL, NULL);
    one_node_input(&node, OX_I8, 2, (int64_t[]){m, n}, c), input_scale(&node, 0.3f);
  }
  CHECK_OK(one_node_run(&node));
  for (int i = 0; i < BATCH * m * n; i++) {
    int image = i / n / m, r = i / n % m, j = i % n;
    double sum = 0;
    for (int l = 0; l < k; l++) sum += a[image * m * k + pa[r * k + l]] * b[pb[turned ? j * k + l : l * n + j]];
    sum = sum * (double)0.02f * typed_at(scale, per_column ? j : 0) + (v ? typed_at(v, j) : 0);
    if (add) sum += c[py[r * n + j]] * (double)0.3f;
    near_byte(((const int8_t *)node.out[0].data)[image * m * n + py[r * n + j]], sum / (double)0.7f, "product", i);
  }
  one_node_deinit(&node);
}

static void test_products(void **state) {
  (void)state;
  check_matmul(ROW, COL, 1, 1, 1, false, false, false);
  for (int bits = 0; bits < 8; bits++) check_matmul(ROW, COL, 3, 37, 70, bits & 1, bits & 2, bits & 4);
  for (int bits = 0; bits < 4; bits++) {
    check_matmul(COL32, COL4_4R2_8C, 5, 64, 96, false, bits & 1, bits & 2);
    check_matmul(COL32, COL32_2R_4R4, 5, 96, 64, false, bits & 1, bits & 2);
  }
}

static void test_wrong_orders(void **state) {
  (void)state;
  static const int8_t bytes[33 * 33] = {0};
  one_node n;
  one_node_init(&n, "com.microsoft", "DequantizeWithOrder", 1, 1);
  one_node_int(&n, "order_input", COL32), one_node_int(&n, "order_output", ROW), one_node_int(&n, "to", OX_F32);
  one_node_input(&n, OX_I8, 2, (int64_t[]){2, 33}, bytes), input_scale(&n, 1);
  CHECK_FAILS(one_node_run(&n), OX_SHAPE_MISMATCH, "tiles of 1 x 32");
  one_node_deinit(&n);
  one_node_init(&n, "com.microsoft", "QOrderedMatMul", 1, 1);
  one_node_int(&n, "order_A", ROW), one_node_int(&n, "order_B", ROW), one_node_int(&n, "order_Y", ROW);
  for (int i = 0; i < 2; i++) one_node_input(&n, OX_I8, 2, (int64_t[]){4, 4}, bytes), input_scale(&n, 1);
  input_scale(&n, 1);
  CHECK_FAILS(one_node_run(&n), OX_INVALID_MODEL, "do not go together");
  one_node_deinit(&n);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_orders),   cmocka_unit_test(test_gelu),         cmocka_unit_test(test_layers),
      cmocka_unit_test(test_products), cmocka_unit_test(test_wrong_orders),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
