/* SPDX-License-Identifier: Apache-2.0
 * plugins/device/core/fake_driver.c - a driver without functions, for tests of what never asks it. */
#include "plugins/device/driver.h"

const dev_driver dev_the_driver = {.name = "fake"};
