/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_ep_compatibility.c - whether a compiled model fits a device: the model says for what it was compiled,
 * in its metadata under "ep_compatibility_info.<provider>", and the provider's library judges that. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ort/ort_api.h"
#include "ort/ort_memory.h"
#include "ort/ort_status.h"
#include "ort/plugin/ort_ep_library.h"

OrtStatus *ort_GetModelCompatibilityForEpDevices(const OrtEpDevice *const *ep_devices, size_t num_ep_devices,
                                                 const char *compatibility_info,
                                                 OrtCompiledModelCompatibility *out_status) {
  const OrtHardwareDevice *hardware[ORT_MOST_EP_DEVICES];
  ORT_NEED(ep_devices);
  ORT_NEED(compatibility_info);
  ORT_NEED(out_status);
  *out_status = OrtCompiledModelCompatibility_EP_NOT_APPLICABLE;
  if (num_ep_devices == 0 || num_ep_devices > ORT_MOST_EP_DEVICES)
    return ort_fail(ORT_INVALID_ARGUMENT, "GetModelCompatibilityForEpDevices: 'num_ep_devices' is %zu, wanted 1 to %d",
                    num_ep_devices, ORT_MOST_EP_DEVICES);
  for (size_t i = 0; i < num_ep_devices; i++) {
    if (ep_devices[i] == NULL || strcmp(ep_devices[i]->name, ep_devices[0]->name) != 0)
      return ort_fail(ORT_INVALID_ARGUMENT,
                      "GetModelCompatibilityForEpDevices: 'ep_devices[%zu]' is NULL, or of another provider", i);
    hardware[i] = ep_devices[i]->hardware;
  }
  OrtEpFactory *f = ep_devices[0]->factory;
  if (f == NULL || !ORT_HAS(f, 23, ValidateCompiledModelCompatibilityInfo)) return NULL;
  return f->ValidateCompiledModelCompatibilityInfo(f, hardware, num_ep_devices, compatibility_info, out_status);
}

/* ---- a model's metadata, read without loading the model ---- */

/* A reader of protocol-buffer fields. */
typedef struct wire {
  const unsigned char *at, *end;
  bool broken;
} wire;

static uint64_t read_number(wire *w) {
  uint64_t n = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (w->at == w->end) break;
    unsigned char byte = *w->at++;
    n |= (uint64_t)(byte & 127) << shift;
    if (byte < 128) return n;
  }
  w->broken = true;
  return 0;
}

/* The next field; false at the end, or if the bytes are broken. |out|: its content, for those with a length. */
static bool next_field(wire *w, uint32_t *out_field, wire *out) {
  if (w->broken || w->at == w->end) return false;
  uint64_t tag = read_number(w), n = 0;
  *out_field = (uint32_t)(tag >> 3), *out = (wire){w->at, w->at, false};
  switch (tag & 7) {
    case 0: /* a number */
      read_number(w);
      return !w->broken;
    case 1: /* 8 bytes */
      n = 8;
      break;
    case 2: /* a length and as many bytes */
      n = read_number(w);
      break;
    case 5: /* 4 bytes */
      n = 4;
      break;
    default:
      w->broken = true;
  }
  w->broken |= n > (uint64_t)(w->end - w->at);
  if (w->broken) return false;
  out->at = w->at, out->end = w->at += n;
  return true;
}

enum { MODEL_METADATA = 14, ENTRY_KEY = 1, ENTRY_VALUE = 2 };

/* The value of |key| in the metadata of a ModelProto; |out->at| NULL: it is not there. False: the bytes are no model.
 */
static bool find_entry(wire model, const char *key, wire *out) {
  uint32_t field;
  wire entry, text;
  *out = (wire){NULL, NULL, false};
  while (next_field(&model, &field, &entry)) {
    wire k = {0}, v = {0};
    if (field != MODEL_METADATA) continue;
    while (next_field(&entry, &field, &text)) {
      if (field == ENTRY_KEY) k = text;
      if (field == ENTRY_VALUE) v = text;
    }
    if (k.at != NULL && v.at != NULL && (size_t)(k.end - k.at) == strlen(key) && memcmp(k.at, key, strlen(key)) == 0)
      *out = v;
  }
  return !model.broken;
}

static OrtStatus *get_info(const unsigned char *bytes, size_t n, const char *ep_type, OrtAllocator *allocator,
                           char **out) {
  char key[512];
  wire value;
  snprintf(key, sizeof key, "ep_compatibility_info.%.400s", ep_type);
  if (!find_entry((wire){bytes, bytes + n, false}, key, &value))
    return ort_fail(ORT_INVALID_GRAPH, "Protobuf parsing failed.");
  if (value.at == NULL) return NULL;
  size_t length = (size_t)(value.end - value.at);
  void *p;
  ORT_TRY(ort_allocate(allocator, length + 1, &p));
  memcpy(p, value.at, length);
  ((char *)p)[length] = 0;
  *out = p;
  return NULL;
}

static OrtStatus *read_file(const char *path, unsigned char **out, size_t *out_n) {
  FILE *f = fopen(path, "rb");
  *out_n = 0;
  if (f == NULL) return ort_fail(ORT_NO_SUCHFILE, "Load model %s failed. %s", path, strerror(errno));
  long n = fseek(f, 0, SEEK_END) == 0 ? ftell(f) : -1;
  rewind(f);
  *out = n >= 0 ? malloc((size_t)n + 1) : NULL;
  bool whole = *out != NULL && fread(*out, 1, (size_t)n, f) == (size_t)n;
  fclose(f);
  *out_n = (size_t)n;
  if (whole) return NULL;
  bool memory = n >= 0 && *out == NULL;
  free(*out);
  *out = NULL;
  return memory ? ort_out_of_memory() : ort_fail(ORT_FAIL, "Load model %s failed: it cannot be read", path);
}

OrtStatus *ort_GetCompatibilityInfoFromModel(const ORTCHAR_T *model_path, const char *ep_type, OrtAllocator *allocator,
                                             char **compatibility_info) {
  unsigned char *bytes;
  size_t n;
  ORT_NEED(model_path);
  ORT_NEED(ep_type);
  ORT_NEED(allocator);
  ORT_NEED(compatibility_info);
  *compatibility_info = NULL;
  if (*model_path == 0 || *ep_type == 0)
    return ort_fail(ORT_INVALID_ARGUMENT, "GetCompatibilityInfoFromModel: '%s' is empty",
                    *model_path == 0 ? "model_path" : "ep_type");
  ORT_TRY(read_file(model_path, &bytes, &n));
  OrtStatus *st = get_info(bytes, n, ep_type, allocator, compatibility_info);
  free(bytes);
  return st;
}

OrtStatus *ort_GetCompatibilityInfoFromModelBytes(const void *model_data, size_t model_data_length, const char *ep_type,
                                                  OrtAllocator *allocator, char **compatibility_info) {
  ORT_NEED(model_data);
  ORT_NEED(ep_type);
  ORT_NEED(allocator);
  ORT_NEED(compatibility_info);
  *compatibility_info = NULL;
  if (model_data_length == 0 || *ep_type == 0)
    return ort_fail(ORT_INVALID_ARGUMENT, "GetCompatibilityInfoFromModelBytes: '%s' is %s",
                    model_data_length == 0 ? "model_data_length" : "ep_type", model_data_length == 0 ? "0" : "empty");
  return get_info(model_data, model_data_length, ep_type, allocator, compatibility_info);
}
