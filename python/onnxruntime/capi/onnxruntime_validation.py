# SPDX-License-Identifier: Apache-2.0
"""What the package is and what it was built for."""


def get_package_name_and_version_info():
    """(name, version, version of CUDA: none)"""
    import onnxruntime

    return onnxruntime.package_name, onnxruntime.version, onnxruntime.cuda_version


def check_distro_info():
    """Any Linux will do."""


def check_training_module():
    """(has training, exception, package, version, CUDA): there is no training."""
    return False, None, *get_package_name_and_version_info()


has_ortmodule = False
