/* SPDX-License-Identifier: Apache-2.0
 * fuzz/text_fuzz.c - any bytes as the textual syntax: what is read must survive writing and reading. */
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "onnx/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  ox_model *m, *again = NULL;
  fuzz_buf a = {0}, b = {0};
  ox_status *st = ox_text_read(ox_alloc_heap(), NULL, (const char *)data, n, &m);
  if (!st) {
    st = ox_graph_verify(m->graph);
    if (st) fuzz_fail("the graph is broken", st);
    st = ox_text_write(m, fuzz_sink(&a));
    if (st) fuzz_fail("what was read cannot be written", st);
    st = ox_text_read(ox_alloc_heap(), NULL, (char *)a.p, a.n, &again);
    if (st) fuzz_fail((char *)a.p, st);
    st = ox_text_write(again, fuzz_sink(&b));
    if (st || a.n != b.n || memcmp(a.p, b.p, a.n) != 0) fuzz_fail("written twice, the text differs", st);
  }
  ox_status_free(st);
  ox_model_destroy(m), ox_model_destroy(again);
  free(a.p), free(b.p);
  return 0;
}
