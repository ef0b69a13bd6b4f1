/* SPDX-License-Identifier: Apache-2.0
 * handle.h - Python objects around a pointer of the library's that is lent, or owned. */
#ifndef PX_HANDLE_H
#define PX_HANDLE_H

#include "px.h"

typedef struct handle {
  PyObject_HEAD void *it;
  bool owned;
  PyObject *lender; /* whoever owns |it|; NULL: the environment, which stays, or we do */
} handle;

PyObject *px_handle_new(PyTypeObject *type, const void *it, bool owned, PyObject *lender);
/* tp_new of types whose objects only the library makes. */
PyObject *px_no_new(PyTypeObject *type, PyObject *args, PyObject *kwargs);
/* tp_dealloc of handles that own nothing. */
void px_handle_dealloc(PyObject *self);

extern PyTypeObject *px_memory_info_type, *px_ep_device_type;

#endif
