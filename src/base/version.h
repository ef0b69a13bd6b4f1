/* SPDX-License-Identifier: Apache-2.0
 * base/version.h - the version, in one place. */
#ifndef OX_BASE_VERSION_H
#define OX_BASE_VERSION_H

#define OX_VERSION "0.1.0"

#endif
