/* SPDX-License-Identifier: Apache-2.0
 * ort/plugin/ort_ep_compatibility.c - whether a compiled model fits a device: the model says for what it was compiled,
 * in its metadata under "ep_compatibility_info.<provider>", and the provider's library judges that. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ort/ort_api.h"
#include "ort/value/ort_memory.h"
#include "ort/ort_status.h"
#include "ort/model/ort_proto.h"
#include "ort/plugin/ort_ep_library.h"
#include "ort/plugin/ort_file_read.h"

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

enum { MODEL_METADATA = 14, ENTRY_KEY = 1, ENTRY_VALUE = 2 };

/* The value of |key| in the metadata of a ModelProto; its |bytes| NULL: it is not there. False: the bytes are no model.
 */
static bool find_entry(const unsigned char *at, const unsigned char *end, const char *key, ort_field *out) {
  ort_field entry, text;
  *out = (ort_field){0};
  while (at < end) {
    ort_field k = {0}, v = {0};
    if (!ort_next_field(&at, end, &entry)) return false;
    if (entry.number != MODEL_METADATA || entry.wire != 2) continue;
    for (const uint8_t *in = entry.bytes; in < entry.bytes + entry.n;) {
      if (!ort_next_field(&in, entry.bytes + entry.n, &text)) return false;
      if (text.number == ENTRY_KEY && text.wire == 2) k = text;
      if (text.number == ENTRY_VALUE && text.wire == 2) v = text;
    }
    if (v.bytes != NULL && k.n == strlen(key) && memcmp(k.bytes, key, k.n) == 0) *out = v;
  }
  return true;
}

static OrtStatus *get_info(const unsigned char *bytes, size_t n, const char *ep_type, OrtAllocator *allocator,
                           char **out) {
  char key[512];
  ort_field value;
  snprintf(key, sizeof key, "ep_compatibility_info.%.400s", ep_type);
  if (!find_entry(bytes, bytes + n, key, &value)) return ort_fail(ORT_INVALID_GRAPH, "Protobuf parsing failed.");
  if (value.bytes == NULL) return NULL;
  void *p;
  ORT_TRY(ort_allocate(allocator, value.n + 1, &p));
  memcpy(p, value.bytes, value.n);
  ((char *)p)[value.n] = 0;
  *out = p;
  return NULL;
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
  ORT_TRY(ort_file_read(model_path, &bytes, &n));
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
