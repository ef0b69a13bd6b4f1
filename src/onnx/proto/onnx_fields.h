/* SPDX-License-Identifier: Apache-2.0
 * onnx/proto/onnx_fields.h - the field numbers of ONNX's messages, as far as Onyx reads or writes them (private to
 * onnx/). OX_MODEL_PROTO_GRAPH is the field graph of ModelProto, and so on. tests/onnx/check_fields.py compares the
 * numbers with those of the onnx package. */
#ifndef OX_ONNX_PROTO_ONNX_FIELDS_H
#define OX_ONNX_PROTO_ONNX_FIELDS_H

/* ---- models: onnx.proto ---- */

enum { /* ModelProto */
       OX_MODEL_PROTO_IR_VERSION = 1,
       OX_MODEL_PROTO_PRODUCER_NAME = 2,
       OX_MODEL_PROTO_PRODUCER_VERSION = 3,
       OX_MODEL_PROTO_DOMAIN = 4,
       OX_MODEL_PROTO_MODEL_VERSION = 5,
       OX_MODEL_PROTO_DOC_STRING = 6,
       OX_MODEL_PROTO_GRAPH = 7,
       OX_MODEL_PROTO_OPSET_IMPORT = 8,
       OX_MODEL_PROTO_METADATA_PROPS = 14,
       OX_MODEL_PROTO_FUNCTIONS = 25
};

enum { /* OperatorSetIdProto */
       OX_OPERATOR_SET_ID_PROTO_DOMAIN = 1,
       OX_OPERATOR_SET_ID_PROTO_VERSION = 2
};

enum { /* StringStringEntryProto */
       OX_STRING_STRING_ENTRY_PROTO_KEY = 1,
       OX_STRING_STRING_ENTRY_PROTO_VALUE = 2
};

enum { /* FunctionProto */
       OX_FUNCTION_PROTO_NAME = 1,
       OX_FUNCTION_PROTO_INPUT = 4,
       OX_FUNCTION_PROTO_OUTPUT = 5,
       OX_FUNCTION_PROTO_ATTRIBUTE = 6, /* names of attributes without a default */
       OX_FUNCTION_PROTO_NODE = 7,
       OX_FUNCTION_PROTO_DOC_STRING = 8,
       OX_FUNCTION_PROTO_OPSET_IMPORT = 9,
       OX_FUNCTION_PROTO_DOMAIN = 10,
       OX_FUNCTION_PROTO_ATTRIBUTE_PROTO = 11, /* attributes with their defaults */
       OX_FUNCTION_PROTO_VALUE_INFO = 12,
       OX_FUNCTION_PROTO_OVERLOAD = 13,
       OX_FUNCTION_PROTO_METADATA_PROPS = 14
};

enum { /* GraphProto */
       OX_GRAPH_PROTO_NODE = 1,
       OX_GRAPH_PROTO_NAME = 2,
       OX_GRAPH_PROTO_INITIALIZER = 5,
       OX_GRAPH_PROTO_INPUT = 11,
       OX_GRAPH_PROTO_OUTPUT = 12,
       OX_GRAPH_PROTO_VALUE_INFO = 13,
       OX_GRAPH_PROTO_SPARSE_INITIALIZER = 15
};

enum { /* NodeProto */
       OX_NODE_PROTO_INPUT = 1,
       OX_NODE_PROTO_OUTPUT = 2,
       OX_NODE_PROTO_NAME = 3,
       OX_NODE_PROTO_OP_TYPE = 4,
       OX_NODE_PROTO_ATTRIBUTE = 5,
       OX_NODE_PROTO_DOMAIN = 7,
       OX_NODE_PROTO_OVERLOAD = 8
};

enum { /* AttributeProto */
       OX_ATTRIBUTE_PROTO_NAME = 1,
       OX_ATTRIBUTE_PROTO_F = 2,
       OX_ATTRIBUTE_PROTO_I = 3,
       OX_ATTRIBUTE_PROTO_S = 4,
       OX_ATTRIBUTE_PROTO_T = 5,
       OX_ATTRIBUTE_PROTO_G = 6,
       OX_ATTRIBUTE_PROTO_FLOATS = 7,
       OX_ATTRIBUTE_PROTO_INTS = 8,
       OX_ATTRIBUTE_PROTO_STRINGS = 9,
       OX_ATTRIBUTE_PROTO_TENSORS = 10,
       OX_ATTRIBUTE_PROTO_GRAPHS = 11,
       OX_ATTRIBUTE_PROTO_TP = 14, /* a TypeProto */
       OX_ATTRIBUTE_PROTO_TYPE_PROTOS = 15,
       OX_ATTRIBUTE_PROTO_TYPE = 20, /* which of the fields holds the value: OX_ATTR_..._KIND */
       OX_ATTRIBUTE_PROTO_REF_ATTR_NAME = 21,
       OX_ATTRIBUTE_PROTO_SPARSE_TENSOR = 22,
       OX_ATTRIBUTE_PROTO_SPARSE_TENSORS = 23
};

enum { /* ValueInfoProto */
       OX_VALUE_INFO_PROTO_NAME = 1,
       OX_VALUE_INFO_PROTO_TYPE = 2
};

/* ---- tensors ---- */

enum { /* TensorProto */
       OX_TENSOR_PROTO_DIMS = 1,
       OX_TENSOR_PROTO_DATA_TYPE = 2,
       OX_TENSOR_PROTO_SEGMENT = 3,
       OX_TENSOR_PROTO_FLOAT_DATA = 4,
       OX_TENSOR_PROTO_INT32_DATA = 5,
       OX_TENSOR_PROTO_STRING_DATA = 6,
       OX_TENSOR_PROTO_INT64_DATA = 7,
       OX_TENSOR_PROTO_NAME = 8,
       OX_TENSOR_PROTO_RAW_DATA = 9,
       OX_TENSOR_PROTO_DOUBLE_DATA = 10,
       OX_TENSOR_PROTO_UINT64_DATA = 11,
       OX_TENSOR_PROTO_EXTERNAL_DATA = 13,
       OX_TENSOR_PROTO_DATA_LOCATION = 14
};

enum { /* TensorProto.DataLocation */
       OX_TENSOR_PROTO_DATA_LOCATION_EXTERNAL = 1
};

enum { /* SparseTensorProto */
       OX_SPARSE_TENSOR_PROTO_VALUES = 1,
       OX_SPARSE_TENSOR_PROTO_INDICES = 2,
       OX_SPARSE_TENSOR_PROTO_DIMS = 3
};

/* ---- types ---- */

enum { /* TypeProto */
       OX_TYPE_PROTO_TENSOR_TYPE = 1,
       OX_TYPE_PROTO_SEQUENCE_TYPE = 4,
       OX_TYPE_PROTO_MAP_TYPE = 5,
       OX_TYPE_PROTO_SPARSE_TENSOR_TYPE = 8,
       OX_TYPE_PROTO_OPTIONAL_TYPE = 9
};

enum { /* TypeProto.Tensor, TypeProto.SparseTensor */
       OX_TYPE_PROTO_TENSOR_ELEM_TYPE = 1,
       OX_TYPE_PROTO_TENSOR_SHAPE = 2
};

enum { /* TypeProto.Sequence */
       OX_TYPE_PROTO_SEQUENCE_ELEM_TYPE = 1
};

enum { /* TypeProto.Map */
       OX_TYPE_PROTO_MAP_KEY_TYPE = 1,
       OX_TYPE_PROTO_MAP_VALUE_TYPE = 2
};

enum { /* TypeProto.Optional */
       OX_TYPE_PROTO_OPTIONAL_ELEM_TYPE = 1
};

enum { /* TensorShapeProto */
       OX_TENSOR_SHAPE_PROTO_DIM = 1
};

enum { /* TensorShapeProto.Dimension */
       OX_TENSOR_SHAPE_PROTO_DIMENSION_DIM_VALUE = 1,
       OX_TENSOR_SHAPE_PROTO_DIMENSION_DIM_PARAM = 2
};

/* ---- values: onnx-data.proto ---- */

enum { /* SequenceProto */
       OX_SEQUENCE_PROTO_NAME = 1,
       OX_SEQUENCE_PROTO_ELEM_TYPE = 2,
       OX_SEQUENCE_PROTO_TENSOR_VALUES = 3,
       OX_SEQUENCE_PROTO_SPARSE_TENSOR_VALUES = 4,
       OX_SEQUENCE_PROTO_SEQUENCE_VALUES = 5,
       OX_SEQUENCE_PROTO_MAP_VALUES = 6,
       OX_SEQUENCE_PROTO_OPTIONAL_VALUES = 7
};

enum { /* OptionalProto */
       OX_OPTIONAL_PROTO_NAME = 1,
       OX_OPTIONAL_PROTO_ELEM_TYPE = 2,
       OX_OPTIONAL_PROTO_TENSOR_VALUE = 3,
       OX_OPTIONAL_PROTO_SPARSE_TENSOR_VALUE = 4,
       OX_OPTIONAL_PROTO_SEQUENCE_VALUE = 5,
       OX_OPTIONAL_PROTO_MAP_VALUE = 6,
       OX_OPTIONAL_PROTO_OPTIONAL_VALUE = 7
};

enum { /* SequenceProto.DataType, OptionalProto.DataType */
       OX_SEQUENCE_PROTO_DATA_TYPE_UNDEFINED = 0,
       OX_SEQUENCE_PROTO_DATA_TYPE_TENSOR = 1,
       OX_SEQUENCE_PROTO_DATA_TYPE_SPARSE_TENSOR = 2,
       OX_SEQUENCE_PROTO_DATA_TYPE_SEQUENCE = 3,
       OX_SEQUENCE_PROTO_DATA_TYPE_MAP = 4,
       OX_SEQUENCE_PROTO_DATA_TYPE_OPTIONAL = 5
};

enum { /* MapProto */
       OX_MAP_PROTO_NAME = 1,
       OX_MAP_PROTO_KEY_TYPE = 2,
       OX_MAP_PROTO_KEYS = 3,
       OX_MAP_PROTO_STRING_KEYS = 4,
       OX_MAP_PROTO_VALUES = 5
};

#endif
