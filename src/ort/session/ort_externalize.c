/* SPDX-License-Identifier: Apache-2.0
 * ort/session/ort_externalize.c - see ort_externalize.h. Fields that are not concerned are copied as they are. */
#include "ort/session/ort_externalize.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "ort/model/ort_model_write.h"
#include "ort/ort_api.h"
#include "ort/ort_status.h"
#include "ort/value/ort_value.h"

/* Fields of TensorProto and StringStringEntryProto. */
enum { TENSOR_DIMS = 1, TENSOR_TYPE = 2, TENSOR_NAME = 8, TENSOR_RAW = 9, TENSOR_EXTERNAL = 13, TENSOR_WHERE = 14 };
enum { ENTRY_KEY = 1, ENTRY_VALUE = 2, IN_FILE = 1 };
enum { ALIGN = 64 }; /* of data in the file, so that it can be used where it is mapped */

/* A TensorProto as far as it matters here. */
typedef struct initializer {
  char name[512];
  int64_t dims[OX_MAX_RANK];
  size_t rank;
  ONNXTensorElementDataType type;
  const uint8_t *raw; /* NULL: its data is elsewhere already, or no raw_data */
  size_t bytes;
} initializer;

static OrtStatus *broken(void) { return ort_fail(ORT_FAIL, "the model that was written is not sound"); }

static OrtStatus *read_initializer(const ort_field *tensor, initializer *out) {
  const uint8_t *at = tensor->bytes, *end = at + tensor->n;
  ort_field f;
  *out = (initializer){0};
  while (at < end) {
    if (!ort_next_field(&at, end, &f)) return broken();
    if (f.number == TENSOR_DIMS && f.wire == 0 && out->rank < OX_MAX_RANK) out->dims[out->rank++] = (int64_t)f.value;
    if (f.number == TENSOR_TYPE) out->type = ort_type_from((uint32_t)f.value);
    if (f.number == TENSOR_NAME) snprintf(out->name, sizeof out->name, "%.*s", (int)f.n, (const char *)f.bytes);
    if (f.number == TENSOR_RAW) out->raw = f.bytes, out->bytes = f.n;
  }
  return NULL;
}

/* ---- where data goes ---- */

static OrtStatus *put_bytes(ort_external_place *place, const void *bytes, size_t n) {
  place->offset += n;
  if (place->file == NULL) {
    ort_put_raw(place->buffer, bytes, n);
    return place->buffer->failed ? ort_out_of_memory() : NULL;
  }
  if (fwrite(bytes, 1, n, place->file) == n) return NULL;
  return ort_fail(ORT_FAIL, "'%s' cannot be written: %s", place->location, strerror(errno));
}

static OrtStatus *put_data(ort_external_place *place, const initializer *i, int64_t *out_offset) {
  static const char zeros[4096];
  size_t align = place->align > ALIGN && i->bytes >= place->align_from ? place->align : ALIGN;
  for (size_t gap; (gap = (align - place->offset % align) % align) > 0;)
    ORT_TRY(put_bytes(place, zeros, gap < sizeof zeros ? gap : sizeof zeros));
  *out_offset = (int64_t)place->offset;
  return put_bytes(place, i->raw, i->bytes);
}

/* The client's answer; *out NULL: it stays in the model. */
static OrtStatus *ask_client(const ort_external_place *place, const initializer *i, OrtExternalInitializerInfo **out) {
  ox_tensor t;
  OrtValue *value;
  *out = NULL;
  ORT_TRY(ort_tensor_describe("CompileModel", ORT_INVALID_ARGUMENT, i->type, i->dims, i->rank, &t));
  t.data = (void *)(uintptr_t)i->raw;
  ORT_TRY(ort_value_create(&t, 0, NULL, &value));
  OrtStatus *st = place->locate(place->locate_state, i->name, value, NULL, out);
  ort_ReleaseValue(value);
  return st;
}

/* ---- the model ---- */

static void put_entry(ort_bytes *tensor, const char *key, const char *value) {
  ort_bytes entry = {0};
  ort_put_text(&entry, ENTRY_KEY, key);
  ort_put_text(&entry, ENTRY_VALUE, value);
  ort_put_message(tensor, TENSOR_EXTERNAL, &entry);
  ort_bytes_deinit(&entry);
}

static void put_reference(ort_bytes *graph, const ort_field *tensor, const char *location, int64_t offset,
                          size_t bytes) {
  const uint8_t *at = tensor->bytes, *end = at + tensor->n;
  char text[32];
  ort_bytes t = {0};
  for (ort_field f; at < end && ort_next_field(&at, end, &f);)
    if (f.number != TENSOR_RAW) ort_put_raw(&t, f.whole, f.whole_n);
  put_entry(&t, "location", location);
  snprintf(text, sizeof text, "%" PRId64, offset);
  put_entry(&t, "offset", text);
  snprintf(text, sizeof text, "%zu", bytes);
  put_entry(&t, "length", text);
  ort_put_int(&t, TENSOR_WHERE, IN_FILE);
  ort_put_message(graph, ORT_GRAPH_INITIALIZER, &t);
  ort_bytes_deinit(&t);
}

static OrtStatus *put_initializer(ort_bytes *graph, const ort_field *f, ort_external_place *place) {
  initializer i;
  int64_t offset = 0;
  OrtExternalInitializerInfo *info = NULL;
  ORT_TRY(read_initializer(f, &i));
  bool moves = i.bytes > 0 && (place->locate != NULL || i.bytes >= place->threshold);
  if (moves && place->locate != NULL) {
    ORT_TRY(ask_client(place, &i, &info));
    moves = info != NULL;
  } else if (moves) {
    ORT_TRY(put_data(place, &i, &offset));
  }
  if (!moves)
    ort_put_raw(graph, f->whole, f->whole_n);
  else if (info != NULL)
    put_reference(graph, f, info->path, info->offset, info->bytes);
  else
    put_reference(graph, f, place->location, offset, i.bytes);
  ort_ReleaseExternalInitializerInfo(info);
  return NULL;
}

static OrtStatus *put_graph(ort_bytes *model, const ort_field *graph, ort_external_place *place) {
  const uint8_t *at = graph->bytes, *end = at + graph->n;
  ort_bytes g = {0};
  OrtStatus *st = NULL;
  ort_field f;
  while (st == NULL && at < end) {
    if (!ort_next_field(&at, end, &f))
      st = broken();
    else if (f.number == ORT_GRAPH_INITIALIZER)
      st = put_initializer(&g, &f, place);
    else
      ort_put_raw(&g, f.whole, f.whole_n);
  }
  if (st == NULL) ort_put_message(model, ORT_MODEL_GRAPH, &g);
  ort_bytes_deinit(&g);
  return st;
}

OrtStatus *ort_externalize(ort_bytes *model, ort_external_place *place) {
  const uint8_t *at = model->p, *end = at + model->n;
  ort_bytes out = {0};
  OrtStatus *st = NULL;
  ort_field f;
  while (st == NULL && at < end) {
    if (!ort_next_field(&at, end, &f))
      st = broken();
    else if (f.number == ORT_MODEL_GRAPH)
      st = put_graph(&out, &f, place);
    else
      ort_put_raw(&out, f.whole, f.whole_n);
  }
  if (st == NULL && out.failed) st = ort_out_of_memory();
  if (st != NULL) {
    ort_bytes_deinit(&out);
    return st;
  }
  ort_bytes_deinit(model);
  *model = out;
  return NULL;
}
