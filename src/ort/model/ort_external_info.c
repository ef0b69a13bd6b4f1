/* SPDX-License-Identifier: Apache-2.0
 * ort/model/ort_external_info.c - where the data of an initializer lies: a file, an offset, a size. */
#include <stdlib.h>

#include "ort/model/ort_read.h"

OrtStatus *ort_CreateExternalInitializerInfo(const ORTCHAR_T *filepath, int64_t file_offset, size_t byte_size,
                                             OrtExternalInitializerInfo **out) {
  ORT_NEED(out);
  *out = NULL;
  ORT_NEED(filepath);
  OrtExternalInitializerInfo *info = calloc(1, sizeof *info);
  OrtStatus *st = info != NULL ? ort_text_copy(filepath, &info->path) : ort_out_of_memory();
  if (st == NULL) {
    info->offset = file_offset, info->bytes = byte_size;
    *out = info, info = NULL;
  }
  ort_external_info_release(info);
  return st;
}

void ort_ReleaseExternalInitializerInfo(OrtExternalInitializerInfo *info) { ort_external_info_release(info); }

const ORTCHAR_T *ort_ExternalInitializerInfo_GetFilePath(const OrtExternalInitializerInfo *info) {
  return info != NULL ? info->path : NULL;
}

int64_t ort_ExternalInitializerInfo_GetFileOffset(const OrtExternalInitializerInfo *info) {
  return info != NULL ? info->offset : 0;
}

size_t ort_ExternalInitializerInfo_GetByteSize(const OrtExternalInitializerInfo *info) {
  return info != NULL ? info->bytes : 0;
}
