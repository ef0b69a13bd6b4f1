/* SPDX-License-Identifier: Apache-2.0
 * npy.h - the part of NumPy's C API that the module uses, with prototypes of its own: the slots and the head of an
 * array are the same in NumPy 1.x and 2.x, so one binary serves both and NumPy is not needed to compile it. The
 * descriptor differs behind its first members; only those are used. */
#ifndef PX_NPY_H
#define PX_NPY_H

#include "px.h"

typedef struct npy_descr { /* PyArray_Descr up to where 1.x and 2.x part */
  PyObject_HEAD PyTypeObject *scalar;
  char kind, letter, byteorder, flags;
  int type;
} npy_descr;

typedef struct npy_array { /* the head of PyArrayObject */
  PyObject_HEAD char *data;
  int rank;
  Py_ssize_t *dims, *strides;
  PyObject *base;
  npy_descr *descr;
  int flags;
} npy_array;

enum { /* NPY_TYPES */
       NPY_BOOL = 0,
       NPY_BYTE,
       NPY_UBYTE,
       NPY_SHORT,
       NPY_USHORT,
       NPY_INT,
       NPY_UINT,
       NPY_LONG,
       NPY_ULONG,
       NPY_LONGLONG,
       NPY_ULONGLONG,
       NPY_FLOAT,
       NPY_DOUBLE,
       NPY_LONGDOUBLE,
       NPY_CFLOAT,
       NPY_CDOUBLE,
       NPY_CLONGDOUBLE,
       NPY_OBJECT,
       NPY_STRING,
       NPY_UNICODE,
       NPY_VOID,
       NPY_DATETIME,
       NPY_TIMEDELTA,
       NPY_HALF,
       NPY_N_BUILT_IN
};
enum { /* NPY_ARRAY_* */
       NPY_C_CONTIGUOUS = 0x0001,
       NPY_FORCECAST = 0x0010,
       NPY_ENSUREARRAY = 0x0040,
       NPY_ALIGNED = 0x0100,
       NPY_NOTSWAPPED = 0x0200,
       NPY_WRITEABLE = 0x0400
};

bool px_npy_open(void); /* ImportError */
int px_is_array(PyObject *object);
int px_is_scalar(PyObject *object); /* one of NumPy's: numpy.float32(1) */
static inline npy_array *px_array(PyObject *array) { return (npy_array *)array; }
/* New reference to the built-in type's descriptor. */
PyObject *px_npy_descr(int type);
/* |object| as an array of |descr| (NULL: its own), C-contiguous, aligned and of the machine's byte order; itself if it
 * is that already. Steals |descr|. */
PyObject *px_npy_as_array(PyObject *object, PyObject *descr, int more_flags);
/* An array over |data|, or with memory of its own if NULL. Steals |descr|; |base| (may be NULL) is kept alive by it. */
PyObject *px_npy_new(PyObject *descr, int rank, const int64_t *dims, void *data, PyObject *base, bool writeable);
/* Bytes of an element; -1 with an exception. */
Py_ssize_t px_npy_item_size(PyObject *descr);
/* Elements of |array|. */
Py_ssize_t px_npy_count(const npy_array *array);
/* Whether the memory is what a tensor's is: rows after each other, aligned, in the machine's byte order. */
static inline bool px_npy_is_plain(const npy_array *a) {
  return (a->flags & (NPY_C_CONTIGUOUS | NPY_ALIGNED)) == (NPY_C_CONTIGUOUS | NPY_ALIGNED) &&
         a->descr->byteorder != '>';
}

#endif
