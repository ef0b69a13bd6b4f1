/* SPDX-License-Identifier: Apache-2.0
 * support/anchor.c - keeps the support library non-empty. */
typedef int ox_test_support_anchor;
