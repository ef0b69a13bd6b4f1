/* SPDX-License-Identifier: Apache-2.0
 * ort/value/ort_map.c - maps in the order of their keys. */
#include "ort/value/ort_map.h"

#include <stdlib.h>
#include <string.h>

#include "ort/ort_api.h"
#include "ort/ort_size.h"
#include "ort/ort_status.h"
#include "ort/value/ort_value.h"

/* A key and where it stood. */
typedef struct place {
  const ox_str *text; /* NULL: |number| */
  int64_t number;
  size_t at;
} place;

static int compare_keys(const place *a, const place *b) {
  if (a->text == NULL) return (a->number > b->number) - (a->number < b->number);
  size_t n = a->text->n < b->text->n ? a->text->n : b->text->n;
  int order = n > 0 ? memcmp(a->text->p, b->text->p, n) : 0;
  return order != 0 ? order : (a->text->n > b->text->n) - (a->text->n < b->text->n);
}

/* Equal keys as they stood, so that the first stays first: qsort alone does not keep it. */
static int compare_places(const void *a, const void *b) {
  const place *p = a, *q = b;
  int order = compare_keys(p, q);
  return order != 0 ? order : (p->at > q->at) - (p->at < q->at);
}

static place place_of(const ox_tensor *keys, size_t i) {
  if (keys->dtype == OX_STRING) return (place){.text = (const ox_str *)keys->data + i, .at = i};
  return (place){.number = ((const int64_t *)keys->data)[i], .at = i};
}

static bool in_order(const ox_tensor *keys, size_t n) {
  for (size_t i = 1; i < n; i++) {
    place a = place_of(keys, i - 1), b = place_of(keys, i);
    if (compare_keys(&a, &b) >= 0) return false;
  }
  return true;
}

OrtStatus *ort_map_order_init(const ox_tensor *keys, ort_map_order *out) {
  size_t n = (size_t)ox_tensor_count(keys);
  *out = (ort_map_order){.n = n};
  if (keys->dtype != OX_I64 && keys->dtype != OX_STRING) /* a provider's */
    return ort_fail(ORT_NOT_IMPLEMENTED, "a map has keys of %s; clients know int64 and strings",
                    ox_type_name(keys->dtype));
  if (in_order(keys, n)) return NULL;
  place *places = malloc(n * sizeof *places);
  out->at = malloc(n * sizeof *out->at);
  if (places == NULL || out->at == NULL) {
    free(places);
    ort_map_order_deinit(out);
    return ort_out_of_memory();
  }
  for (size_t i = 0; i < n; i++) places[i] = place_of(keys, i);
  qsort(places, n, sizeof *places, compare_places);
  out->n = 0;
  for (size_t i = 0; i < n; i++)
    if (i == 0 || compare_keys(&places[i - 1], &places[i]) != 0) out->at[out->n++] = places[i].at;
  free(places);
  return NULL;
}

void ort_map_order_deinit(ort_map_order *order) {
  free(order->at);
  *order = (ort_map_order){0};
}

/* Elements of a map are whole bytes: integers, floats, strings. */
OrtStatus *ort_map_order_copy(const ort_map_order *order, OrtAllocator *allocator, const ox_tensor *from,
                              OrtValue **out) {
  *out = NULL;
  if ((size_t)ox_tensor_count(from) < order->n)
    return ort_fail(ORT_FAIL, "a map has %zu keys, but %lld values", order->n, (long long)ox_tensor_count(from));
  size_t item = from->dtype == OX_STRING ? sizeof(ox_str) : ox_type_bits(from->dtype) / 8, bytes;
  const char *data = from->data;
  ox_tensor t = *from;
  char *gathered = NULL;
  if (!ort_mul_ok(order->n, item, &bytes)) return ort_out_of_memory();
  if (order->at != NULL) {
    if ((gathered = malloc(bytes)) == NULL) return ort_out_of_memory();
    for (size_t i = 0; i < order->n; i++) memcpy(gathered + i * item, data + order->at[i] * item, item);
    t.data = gathered;
  }
  t.bytes = bytes, t.shape = (ox_shape){1, {(int64_t)order->n}};
  OrtStatus *st = ort_tensor_copy(allocator, &t, out);
  free(gathered);
  return st;
}
