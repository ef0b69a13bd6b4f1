/* SPDX-License-Identifier: Apache-2.0
 * plugins/device/rig_drivers.h - the drivers that this build has. */
#ifndef OX_TESTS_DEVICE_RIG_DRIVERS_H
#define OX_TESTS_DEVICE_RIG_DRIVERS_H

#include "plugins/device/rig.h"

extern const rig_driver rig_opencl, rig_cuda_standin, rig_cuda_gpu;

static const rig_driver *const rig_drivers[] = {
#ifdef OX_TEST_OPENCL
    &rig_opencl,
#endif
#ifdef OX_TEST_CUDA
    &rig_cuda_standin,
    &rig_cuda_gpu,
#endif
    NULL,
};

#endif
