/* SPDX-License-Identifier: Apache-2.0
 * hostile/one_node_model.h - a model of one node as data that is easy to change, read from a line of seeds.txt:
 *   22 Conv <kernel_shape = [3, 3]> (float[1,2,5,5], float[3,2,3,3], ) 1
 * operator set version, operator, attributes, inputs (type and, in braces, values; empty: left out), number of outputs.
 */
#ifndef HOSTILE_ONE_NODE_MODEL_H
#define HOSTILE_ONE_NODE_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "onyx/ep.h"

enum { MOST_IN = 24, MOST_OUT = 12, MOST_ATTRS = 24, MOST_VALUES = 64, MOST_NAME = 64, MOST_ATTR_TEXT = 400 };

/* A value that goes into the node. |wrapped|: what the tensor is the item of. */
typedef struct {
  bool left_out;
  uint32_t wrapped; /* OX_TENSOR, OX_SEQUENCE, OX_SPARSE; OX_NONE_VALUE: an optional that is empty */
  uint32_t dtype;
  int rank;
  int64_t dim[OX_MAX_RANK];
  int n_values; /* 0: random ones, as always for strings */
  double values[MOST_VALUES];
} hostile_value;

typedef struct {
  char name[MOST_NAME];
  char text[MOST_ATTR_TEXT]; /* what follows the '=' */
} hostile_attr;

typedef struct {
  int version;
  char op[2 * MOST_NAME]; /* with its domain */
  hostile_attr attrs[MOST_ATTRS];
  int n_attrs;
  hostile_value in[MOST_IN];
  int n_in, n_out;
  bool out_left_out[MOST_OUT];
} one_node_model;

/* Reads a line; false, and what it did not understand in |*out_at|, if it is not well-formed. |line| is changed. */
bool one_node_read(char *line, one_node_model *out, const char **out_at);

enum { MOST_SEEDS = 2000 };
/* Reads the file |path|, of at most MOST_SEEDS lines; empty ones and those that begin with '#' do not count. 0, with a
 * line on stderr, if it cannot be read. */
uint32_t one_node_read_file(const char *path, one_node_model *out);

/* "float", "uint8" ...: names of the textual syntax, by element type. */
const char *hostile_dtype_name(uint32_t dtype);
/* Elements; -1: more than 2^20. */
int64_t hostile_count(const hostile_value *v);

#endif
