/* SPDX-License-Identifier: Apache-2.0
 * ep/cpu_rules/blocks_test.c - feature maps in blocks of channels: the same results, and nothing is turned around that
 * need not be. */
#include <string.h>

#include "base/macros.h"
#include "support/build_graph.h"
#include "support/check.h"
#include "support/run_graph.h"

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17, \"com.microsoft\" : 1, \"ai.onyx\" : 1]> g "
#define HEAD11 "<ir_version: 8, opset_import: [\"\" : 11]> g "
#define HEAD18 "<ir_version: 8, opset_import: [\"\" : 18]> g "
/* |name|: a constant of |n| different numbers. */
#define NUMBERS(name, n, shape)                                                                              \
  name "_z = Constant <value_float = 0.0> () " name "_n = Constant <value_float = " n "> () " name           \
       "_d = Constant <value_float = 1.7> () " name "_r = Range (" name "_z, " name "_n, " name "_d) " name  \
       "_c = Sin (" name "_r) " name "_s = Constant <value_ints = [" shape "]> () " name " = Reshape (" name \
       "_c, " name "_s) "
#define W3 NUMBERS("w3", "13769.5", "30, 30, 3, 3")
#define W1 NUMBERS("w1", "22031.5", "48, 30, 3, 3")
#define W2 NUMBERS("w2", "22031.5", "30, 48, 3, 3")
#define CONV3(y, x) y " = Conv <pads = [1, 1, 1, 1]> (" x ", w3) "
#define CONV1(y, x) y " = Conv <pads = [1, 1, 1, 1]> (" x ", w1) "
#define CONV2(y, x) y " = Conv <pads = [1, 1, 1, 1]> (" x ", w2) "
#define PER_CHANNEL(name) NUMBERS(name, "50.5", "30")
#define MAP "float[2, 30, 13, 15]"
#define IO "(" MAP " x) => (" MAP " y) { " W3
#define IO1 "(" MAP " x) => (" MAP " y) { " W1 W2

static const rg_row rows[] = {
    {HEAD IO CONV3("y", "x") "}", "blocks", "ToBlocks BlockConv FromBlocks", 1e-5},
    {HEAD IO CONV3("a", "x") "b = Relu (a) " CONV3("c", "b") "d = Add (c, b) " CONV3("y", "d") "}", "blocks",
     "ToBlocks BlockConv BlockConv BlockConv FromBlocks", 1e-5},
    /* an image is read as it is; a value that leaves is turned back once */
    {HEAD "(float[2, 3, 33, 35] x) => (float[2, 30, 33, 35] y, float[2, 30, 33, 35] a, float[2, 30, 33, 35] s) { " W3
         NUMBERS("w", "1376.5", "30, 3, 3, 3") "a = Conv <pads = [1, 1, 1, 1]> (x, w) " CONV3("y", "a") "s = Neg (a) }",
     "blocks", "BlockConv BlockConv FromBlocks Neg FromBlocks", 1e-5},
    /* one channel is in blocks on its way out of a convolution, no further */
    {HEAD "(" MAP " x) => (float[2, 1, 13, 15] y) { " W3 NUMBERS("w", "458.5", "1, 30, 3, 3")
         CONV3("a", "x") "b = Conv <pads = [1, 1, 1, 1]> (a, w) y = Neg (b) }",
     "blocks", "ToBlocks BlockConv BlockConv FromBlocks Neg", 1e-5},
    {HEAD "(float[2, 1, 13, 15] x) => (" MAP
          " y) { " W3 NUMBERS("w", "458.5", "30, 1, 3, 3") "a = Conv <pads = [1, 1, 1, 1]> (x, w) " CONV3("y", "a") "}",
     "blocks", "BlockConv BlockConv FromBlocks", 1e-5},
    /* batch and extents that only the run knows */
    {HEAD "(float[N, 30, h, w] x) => (float[N, 30, h, w] y) { " W3 CONV3("a", "x") CONV3("y", "a") "}", "blocks",
     "ToBlocks BlockConv BlockConv FromBlocks", 1e-5},
    {HEAD "(float[2, 30, 150] x) => (float[2, 30, 150] y) { " NUMBERS(
         "w", "4589.5", "30, 30, 3") "a = Conv <pads = [1, 1]> (x, w) b = Neg (a) y = Conv <pads = [1, 1]> (b, w) }",
     "blocks", "ToBlocks BlockConv Neg BlockConv FromBlocks", 1e-5},
    {HEAD "(float[1, 30, 5, 6, 7] x) => (float[1, 30, 5, 6, 7] y) { " NUMBERS(
         "w", "41309.5", "30, 30, 3, 3, 3") "y = Conv <auto_pad = \"SAME_UPPER\"> (x, w) }",
     "blocks", "ToBlocks BlockConv FromBlocks", 1e-5},

    /* a channel for itself: alone where images are small, one long row is not */
    {HEAD "(float[1, 192, 7, 7] x) => (float[1, 192, 7, 7] y) { " NUMBERS(
         "w", "2936.5", "192, 1, 3, 3") "y = Conv <group = 192, pads = [1, 1, 1, 1]> (x, w) }",
     "blocks", "ToBlocks BlockConv FromBlocks", 1e-5},
    {HEAD "(float[1, 192, 400] x) => (float[1, 192, 400] y) { " NUMBERS(
         "w", "978.5", "192, 1, 3") "y = Conv <group = 192, pads = [1, 1]> (x, w) }",
     "!blocks", "Conv", 1e-5},

    /* element by element: numbers, constants per channel, maps without channels, gates */
    {HEAD IO "k = Constant <value_float = 1.5> () " NUMBERS("p", "50.5", "30, 1, 1") NUMBERS("q", "50.5", "1, 30, 1, 1")
         CONV3("a", "x") "f = Neg (a) b = Mul (f, k) c = Add (b, p) d = Sub (q, c) e = PRelu (d, p) " CONV3("y",
                                                                                                            "e") "}",
     "blocks", "ToBlocks BlockConv Neg Mul Add Sub PRelu BlockConv FromBlocks", 1e-5},
    {HEAD "(" MAP " x, float[13, 15] u, float[2, 1, 13, 1] v, float[2, 1, 1, 15] t) => (" MAP
          " y) { " W3 CONV3("a", "x") "b = Mul (a, u) c = Max (v, b, t) " CONV3("y", "c") "}",
     "blocks", "ToBlocks BlockConv Unsqueeze Mul Unsqueeze Unsqueeze Max BlockConv FromBlocks", 1e-5},
    {HEAD11 "(" MAP " x, float[13, 15] u) => (" MAP " y) { " W3 CONV3("a", "x") "b = Mul (a, u) " CONV3("y", "b") "}",
     "blocks", "ToBlocks BlockConv Unsqueeze Mul BlockConv FromBlocks", 1e-5},
    {HEAD IO CONV3("a", "x") "b = GlobalAveragePool (a) c = Sigmoid (b) d = Mul (a, c) " CONV3("y", "d") "}", "blocks",
     "ToBlocks BlockConv ReduceMean Sigmoid Mul BlockConv FromBlocks", 1e-5},
    {HEAD IO "l = Constant <value_float = -0.5> () " CONV3("a", "x") "b = Neg (a) c = Clip (b, l) " CONV3("y", "c") "}",
     "blocks", "ToBlocks BlockConv Neg Clip BlockConv FromBlocks", 1e-5},
    /* an operand that is no float has no blocks */
    {HEAD "(" MAP " x, bool[2, 30, 13, 15] m) => (" MAP
          " y) { k = Constant <value_float = 1.5> () " W3 CONV3("a", "x") "b = Where (m, a, k) " CONV3("y", "b") "}",
     "blocks", "ToBlocks BlockConv FromBlocks Where ToBlocks BlockConv FromBlocks", 1e-5},

    /* channels by whole blocks */
    {HEAD IO1 CONV1("a", "x") "b = Neg (a) c = Concat <axis = -3> (a, b, x) s = Constant <value_ints = [48, 78]> () "
                              "d, e = Split <axis = 1> (c, s) " CONV2("y", "d") "f = Neg (e) }",
     "blocks", "ToBlocks BlockConv Neg Concat Split BlockConv FromBlocks", 1e-5},
    {HEAD IO1
     "z = Constant <value_ints = [0, 16, 3]> () m = Constant <value_ints = [2, 1000, -1]> () "
     "s = Constant <value_ints = [0, 1, 2]> () " CONV1(
         "a", "x") "b = Concat <axis = 1> (a, x) "
                   "c = Slice (b, z, m, s) d = Neg (c) o = Constant <value_ints = [0, 0, 3, 0, 0, 0, 1, 0]> () "
                   "e = Pad (d, o) i = Constant <value_ints = [0]> () j = Constant <value_ints = [48]> () "
                   "k = Constant <value_ints = [-3]> () f = Slice (e, i, j, k) " CONV2("y", "f") "}",
     "blocks", "ToBlocks BlockConv Concat Slice Neg Pad Slice BlockConv FromBlocks", 1e-5},
    /* parts of blocks are put together channel by channel; shuffles and what is around them become one node */
    {HEAD IO1 W3 CONV3("a", "x") "b = Neg (a) c = Concat <axis = 1> (a, b) s = Constant <value_ints = [12, 48]> () "
                                 "d, e = Split <axis = 1> (c, s) " CONV2("y", "e") "f = Neg (d) }",
     "blocks-channels", "ToBlocks BlockConv Neg BlockChannels BlockConv FromBlocks", 1e-5},
    {HEAD IO CONV3(
         "a", "x") "b = Neg (a) c = Concat <axis = 1> (a, b) s = Constant <value_ints = [2, 2, 30, 13, 15]> () "
                   "d = Reshape (c, s) e = Transpose <perm = [0, 2, 1, 3, 4]> (d) t = Constant <value_ints = [2, 60, "
                   "13, 15]> () "
                   "f = Reshape (e, t) g, h = Split <axis = 1> (f) " CONV3("i", "g") CONV3("j", "h") "y = Add (i, j) }",
     "channel-shuffle", "ToBlocks BlockConv Neg BlockChannels BlockConv BlockConv FromBlocks", 1e-5},
    {HEAD "(float[2, 6, 5, 4] x) => (float[2, 6, 5, 4] y) { s = Constant <value_ints = [2, 3, 2, 5, 4]> () "
          "d = Reshape (x, s) e = Transpose <perm = [0, 2, 1, 4, 3]> (d) t = Constant <value_ints = [2, 6, 5, 4]> () "
          "y = Reshape (e, t) }",
     "!channel-shuffle", "Reshape Transpose Reshape", 0},
    {HEAD IO CONV3("a", "x") "i = Constant <value_ints = [7, -1, 0]> () b = Gather <axis = 1> (a, i) c = Neg (b) "
                             "d = Concat <axis = 1> (b, c, a) " NUMBERS(
                                 "w", "16523.5", "30, 36, 3, 3") "y = Conv <pads = [1, 1, 1, 1]> (d, w) }",
     "!blocks-channels", "ToBlocks BlockConv BlockChannels Neg BlockChannels BlockConv FromBlocks", 1e-5},

    /* space */
    {HEAD IO
     "e = Constant <value_floats = [1.0, 1.0, 2.0, 2.0]> () r = Constant <value_floats = [1.0, 1.0, 0.5, 0.5]> "
     "() " CONV3("a", "x") "b = Resize <mode = \"nearest\"> (a, , e) c = Resize <mode = \"linear\"> (b, , r) " CONV3(
         "y", "c") "}",
     "blocks", "ToBlocks BlockConv Resize Resize BlockConv FromBlocks", 1e-5},
    {HEAD IO "e = Constant <value_ints = [2, 30, 20, 30]> () r = Constant <value_ints = [2, 30, 13, 15]> () " CONV3(
         "a", "x") "b = Resize <mode = \"cubic\"> (a, , , e) c = Resize <mode = \"linear\"> (b, , , r) " CONV3("y",
                                                                                                               "c") "}",
     "blocks", "ToBlocks BlockConv Resize Resize BlockConv FromBlocks", 1e-5},
    /* Abs: a mean of both signs may be small beside the errors of what it is made from */
    {HEAD "(" MAP " x) => (float[2, 30] y, float[2, 30, 1, 1] m, float[2, 30, 15] n) { " W3 CONV3("a", "x")
         CONV3("b", "a") "c = Abs (b) y = ReduceMean <axes = [-1, 2], keepdims = 0> (c) m = GlobalMaxPool (c) "
                         "n = ReduceMax <axes = [2], keepdims = 0> (c) }",
     "blocks", NULL, 1e-5},
    {HEAD18 "(" MAP " x) => (float[2, 30, 1, 1] y) { " W3 CONV3(
         "a", "x") "i = Constant <value_ints = [-1, 2]> () y = ReduceMean (a, i) }",
     "blocks", "ToBlocks BlockConv ReduceMean FromBlocks", 1e-5},
    /* one pixel of whole blocks is the same outside */
    {HEAD "(" MAP " x) => (float[2, 48] y) { " W1 CONV1("a", "x") "b = GlobalAveragePool (a) y = Flatten (b) }",
     "blocks", "ToBlocks BlockConv ReduceMean Reshape Flatten", 1e-5},

    /* normalization per channel, and what follows it */
    {HEAD IO PER_CHANNEL("s") PER_CHANNEL("b") PER_CHANNEL("m") "v = Exp (m) " CONV3(
         "a", "x") "n = Neg (a) "
                   "c = BatchNormalization (n, s, b, m, v) d = Relu (c) " CONV3("y", "d") "}",
     "blocks-activation", "ToBlocks BlockConv Neg BlockBatchNormalization BlockConv FromBlocks", 1e-5},
    {HEAD IO PER_CHANNEL("s") PER_CHANNEL("b") CONV3("a", "x") "c = InstanceNormalization (a, s, b) "
                                                               "d = LeakyRelu (c) e = Add (c, d) " CONV3("y", "e") "}",
     "!blocks-activation", "ToBlocks BlockConv BlockInstanceNormalization LeakyRelu Add BlockConv FromBlocks", 1e-5},

    /* groups that are no whole blocks */
    {HEAD "(float[2, 36, 13, 15] x) => (" MAP
          " y) { " NUMBERS("w", "5507.5", "30, 12, 3, 3") "y = Conv <group = 3, pads = [1, 1, 1, 1]> (x, w) }",
     "blocks", "ToBlocks BlockConv FromBlocks", 1e-5},

    /* bodies */
    {HEAD "(bool c, " MAP " x) => (" MAP " y) { " W3 "y = If (c) <then_branch = t () => (" MAP " p) { " CONV3("a", "x")
         CONV3("p", "a") "}, else_branch = e () => (" MAP " q) { q = Neg (x) }> }",
     "blocks", "If", 1e-5},

    /* little work, weights that only the run knows, other types, groups that no form serves, no convolution */
    {HEAD "(float[1, 3, 4, 4] x) => (float[1, 2, 4, 4] y) { " NUMBERS("w", "10.0", "2, 3, 1, 1") "y = Conv (x, w) }",
     "!blocks", "Conv", 1e-5},
    {HEAD "(" MAP " x, float[30, 30, 3, 3] w) => (" MAP " y) { y = Conv <pads = [1, 1, 1, 1]> (x, w) }", "!blocks",
     "Conv", 1e-5},
    {HEAD "(double[2, 30, 13, 15] x) => (double[2, 30, 13, 15] y) { " W3
          "w = Cast <to = 11> (w3) y = Conv <pads = [1, 1, 1, 1]> (x, w) }",
     "!blocks", "Conv", 1e-5},
    {HEAD "(float[2, 42, 13, 15] x) => (" MAP
          " y) { " NUMBERS("w", "3212.5", "30, 7, 3, 3") "y = Conv <group = 6, pads = [1, 1, 1, 1]> (x, w) }",
     "!blocks", "Conv", 1e-5},
    {HEAD "(" MAP " x) => (" MAP " y) { a = Sin (x) y = Cos (a) }", "!blocks", "Sin Cos", 0},

    /* channels last on either side: whole blocks move, one block a pixel stays; others are turned */
    {HEAD
     "(float[2, 30, 13, 15] x) => (float[2, 13, 15, 48] y) { " W1 CONV1("a", "x") "y = Transpose <perm = [0, 2, 3, 1]> "
                                                                                  "(a) }",
     "blocks-to-last", "ToBlocks BlockConv Transpose Reshape", 1e-5},
    {HEAD "(float[2, 30, 13, w] x) => (float[2, 13, w, 16] y) { " NUMBERS("w3", "7343.5", "16, 30, 3, 3")
         CONV3("a", "x") "y = Transpose <perm = [0, 2, 3, 1]> (a) }",
     "blocks-to-last", "ToBlocks BlockConv Reshape", 1e-5},
    {HEAD "(float[2, 30, h, w] x) => (float[2, h, w, 16] y) { " NUMBERS("w3", "7343.5", "16, 30, 3, 3")
         CONV3("a", "x") "y = Transpose <perm = [0, 2, 3, 1]> (a) }",
     "blocks-to-last", "ToBlocks BlockConv Transpose Reshape", 1e-5},
    {HEAD "(float[N, 13, w, 48] x) => (float[N, w, 30, 13] y) { " W2
          "t = Transpose <perm = [0, 3, 1, 2]> (x) " CONV2("a", "t") "y = Transpose <perm = [0, 3, 1, 2]> (a) }",
     "last-to-blocks", "Reshape Transpose BlockConv FromBlocks Transpose", 1e-5},
    {HEAD "(float[2, 48, 150] x, float[2, 150, 48] s) => (float[2, 48, 150] y) { " NUMBERS(
         "w", "11749.5",
         "48, 48, 3") "t = Transpose <perm = [0, 2, 1]> (s) a = Conv <pads = [1, 1]> (x, w) b = Add (a, t) "
                      "y = Conv <pads = [1, 1]> (b, w) }",
     "last-to-blocks", "ToBlocks Reshape Transpose BlockConv BlockConv FromBlocks", 1e-5},
    {HEAD "(" MAP " x) => (float[2, 13, 15, 30] y) { " W3 CONV3("a", "x") "y = Transpose <perm = [0, 2, 3, 1]> (a) }",
     "blocks-to-last", "ToBlocks BlockConv FromBlocks", 1e-5},
    {HEAD
     "(float[2, 30, 13, 15] x) => (float[2, 15, 13, 48] y) { " W1 CONV1("a", "x") "y = Transpose <perm = [0, 3, 2, 1]> "
                                                                                  "(a) }",
     "!blocks-to-last", "ToBlocks BlockConv FromBlocks Transpose", 1e-5},
    {HEAD "(float[2, 13, 15, 30] x) => (float[2, 48, 13, 15] y) { " W1
          "t = Transpose <perm = [0, 3, 1, 2]> (x) " CONV1("y", "t") " }",
     "!last-to-blocks", "Transpose ToBlocks BlockConv FromBlocks", 1e-5},

    {HEAD "(float[2, 24, 3] x) => (float[2, 24, 3] y) "
          "{ a = ai.onyx.ToBlocks (x) b = Sin (a) c = ai.onyx.FromBlocks <channels = 24> (b) "
          "d = ai.onyx.ToBlocks (c) e = Cos (d) y = ai.onyx.FromBlocks <channels = 24> (e) }",
     "blocks-cancel", "ToBlocks Sin Cos FromBlocks", 0},
    {HEAD "(float[2, 24, 3] x) => (float[2, 24, 3] y) "
          "{ a = ai.onyx.ToBlocks (x) y = ai.onyx.FromBlocks <channels = 24> (a) }",
     "!blocks-cancel", "ToBlocks FromBlocks", 0},
};

static void test_before_and_after(void **state) {
  (void)state;
  rg_check_rows(rows, OX_COUNT(rows), OX_OPTIMIZE_ALL);
}

static void test_only_the_highest_level_has_blocks(void **state) {
  (void)state;
  rg_check(HEAD IO CONV3("y", "x") "}", OX_OPTIMIZE_EXTENDED, "!blocks", "Conv", 1e-5);
}

/* Between nodes of another provider values are plain. */
static void test_other_providers_meet_no_blocks(void **state) {
  (void)state;
  ox_model *m = rg_read(HEAD IO CONV3("a", "x") "b = Neg (a) " CONV3("c", "b") CONV3("d", "c") "y = Add (d, b) }");
  ox_opt_options o = rg_options(OX_OPTIMIZE_ALL);
  char ops[256];
  CHECK_OK(ox_optimize(m, &o));
  rg_own_all(m, 1);
  for (ox_id i = 0; i < m->graph->n_nodes; i++)
    if (strcmp(m->graph->nodes[i].op, "Neg") == 0) m->graph->nodes[i].assigned.owner = 2;
  CHECK_OK(ox_optimize_owned(m, &o, 1));
  CHECK_OK(ox_graph_verify(m->graph));
  assert_string_equal(bg_ops(m->graph, ops),
                      "ToBlocks BlockConv FromBlocks Neg ToBlocks BlockConv BlockConv FromBlocks");
  ox_model_destroy(m);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_before_and_after),
                                     cmocka_unit_test(test_only_the_highest_level_has_blocks),
                                     cmocka_unit_test(test_other_providers_meet_no_blocks)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
