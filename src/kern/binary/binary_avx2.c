/* SPDX-License-Identifier: Apache-2.0
 * kern/binary/binary_avx2.c - binary_body.h on this instruction set. */
#define BINARY_NAME ox_binary__avx2
#define BINARY_ISA "avx2"
#define BINARY_NEEDS OX_AVX2
#include "kern/binary/binary_body.h"
