/* SPDX-License-Identifier: Apache-2.0
 * ort/model/ort_read.h - the shape that most readers of graphs have: one member, or a list that the caller has room
 * for.
 */
#ifndef OX_ORT_READ_H
#define OX_ORT_READ_H

#include "ort/model/ort_graph.h"
#include "ort/ort_api.h"
#include "ort/ort_status.h"

/* The editor's objects are written, not read: who asks has another kind of object in mind. */
#define ORT_NOT_OF_EDITOR(object, what)                                                             \
  do {                                                                                              \
    if ((object)->editor)                                                                           \
      return ort_fail(ORT_NOT_IMPLEMENTED, "%s: %s cannot be read from what the model editor made", \
                      __func__ + sizeof "ort", what);                                               \
  } while (0)

/* The caller's array has room for |room| of the |n| things. */
#define ORT_NEED_ROOM(room, n)                                                                                       \
  do {                                                                                                               \
    if ((room) < (n))                                                                                                \
      return ort_fail(ORT_INVALID_ARGUMENT, "%s: room for %zu, wanted %zu", __func__ + sizeof "ort", (size_t)(room), \
                      (size_t)(n));                                                                                  \
  } while (0)

/* The rest of a reader. ORT_ANSWER: of one member, also of the editor's objects. ORT_ANSWER_READ: not of those; |what|
 * is for the error. ORT_ANSWER_LIST: the |n| pointers at |from| go to the caller's array |to| of |room|. */
#define ORT_ANSWER(object, to, value) \
  do {                                \
    ORT_NEED(object);                 \
    ORT_NEED(to);                     \
    *(to) = (value);                  \
    return NULL;                      \
  } while (0)
#define ORT_ANSWER_READ(object, what, to, value) \
  do {                                           \
    ORT_NEED(object);                            \
    ORT_NEED(to);                                \
    ORT_NOT_OF_EDITOR(object, what);             \
    *(to) = (value);                             \
    return NULL;                                 \
  } while (0)
#define ORT_ANSWER_LIST(object, what, to, room, from, n)       \
  do {                                                         \
    ORT_NEED(object);                                          \
    ORT_NEED(to);                                              \
    ORT_NOT_OF_EDITOR(object, what);                           \
    ORT_NEED_ROOM(room, n);                                    \
    for (size_t i_ = 0; i_ < (n); i_++) (to)[i_] = (from)[i_]; \
    return NULL;                                               \
  } while (0)

#endif
