/* SPDX-License-Identifier: Apache-2.0
 * kern/binary/binary_avx512.c - binary_body.h on this instruction set. */
#define BINARY_NAME ox_binary__avx512
#define BINARY_ISA "avx512"
#define BINARY_NEEDS OX_AVX512
#include "kern/binary/binary_body.h"
