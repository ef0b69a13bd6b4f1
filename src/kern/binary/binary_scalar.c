/* SPDX-License-Identifier: Apache-2.0
 * kern/binary/binary_scalar.c - binary_body.h on this instruction set. */
#define BINARY_NAME ox_binary__scalar
#define BINARY_ISA "scalar"
#define BINARY_NEEDS 0
#include "kern/binary/binary_body.h"
