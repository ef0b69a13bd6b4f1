/* SPDX-License-Identifier: Apache-2.0
 * ort/ort_api.h - the functions behind the tables of ONNX Runtime's C ABI: ort_<Slot> of OrtApi, ort_ep_<Slot> of
 * OrtEpApi and so on. Defining one is all it takes to serve a slot; a slot without a definition answers
 * ORT_NOT_IMPLEMENTED with its name (ort_table.c). */
#ifndef OX_ORT_API_H
#define OX_ORT_API_H

#include "onyx/ort_abi.h"

#ifdef ORT_TABLES /* ort_table.c: a function that is not there is NULL */
#define ORT_LINKAGE_ __attribute__((weak))
#else
#define ORT_LINKAGE_
#endif

#define ORT_SLOT(slot, name, since, result, params, directions) result ort_##name params ORT_LINKAGE_;
#define ORT_EP_SLOT(slot, name, since, result, params, directions) result ort_ep_##name params ORT_LINKAGE_;
#define ORT_EDITOR_SLOT(slot, name, since, result, params, directions) result ort_editor_##name params ORT_LINKAGE_;
#define ORT_COMPILE_SLOT(slot, name, since, result, params, directions) result ort_compile_##name params ORT_LINKAGE_;
#define ORT_INTEROP_SLOT(slot, name, since, result, params, directions) result ort_interop_##name params ORT_LINKAGE_;
#define ORT_PACKAGE_SLOT(slot, name, since, result, params, directions) result ort_package_##name params ORT_LINKAGE_;
#include "onyx/ort_slots.inc"

/* The tables themselves, the same for every caller. */
const OrtApi *ort_api(void);
const OrtApiBase *ort_api_base(void);

#endif
