/* SPDX-License-Identifier: Apache-2.0
 * fuzz/model_fuzz.c - any bytes as a model: read, verified, expanded, written, read again; or a clear error. */
#include <stdlib.h>

#include "fuzz/fuzz.h"
#include "onnx/inline.h"
#include "onnx/value_message.h"
#include "onnx/model.h"
#include "onnx/text.h"
#include "onnx/write.h"
#include "ops/builtin.h"

static void write_and_read(const ox_model *m, const ox_read_opts *opts) {
  fuzz_buf b = {0};
  ox_model *again = NULL;
  ox_status *st = ox_model_write(m, fuzz_sink(&b));
  if (!st) {
    st = ox_model_read(ox_alloc_heap(), b.p, b.n, opts, &again);
    if (st) fuzz_fail("what was written cannot be read", st);
    st = ox_graph_verify(again->graph);
    if (st) fuzz_fail("what was written is broken", st);
  }
  ox_status_free(st);
  ox_model_destroy(again);
  free(b.p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  ox_read_opts opts = {.registry = ox_ops_builtin(), .max_dense_bytes = 1 << 16};
  ox_model *m;
  ox_status *st = ox_model_read(ox_alloc_heap(), data, n, &opts, &m);
  if (!st) {
    st = ox_graph_verify(m->graph);
    if (st) fuzz_fail("the graph is broken", st);
    write_and_read(m, &opts);
    st = ox_model_inline(m);
  }
  if (!st) {
    st = ox_graph_verify(m->graph);
    if (st) fuzz_fail("expanding functions broke the graph", st);
    write_and_read(m, &opts);
  }
  ox_status_free(st);
  ox_model_destroy(m);

  ox_arena arena;
  ox_arena_init(&arena, ox_alloc_heap());
  for (int message = OX_TENSOR_MESSAGE; message <= OX_OPTIONAL_MESSAGE; message++) {
    ox_tensor t;
    fuzz_buf b = {0};
    st = ox_value_message_read(&arena, (ox_value_message)message, data, n, &t, NULL);
    if (!st) st = ox_value_message_write(ox_alloc_heap(), (ox_value_message)message, &t, NULL, fuzz_sink(&b));
    ox_status_free(st);
    free(b.p);
  }
  ox_arena_deinit(&arena);
  return 0;
}
