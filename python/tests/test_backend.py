# SPDX-License-Identifier: Apache-2.0
"""ONNX's own tests of back-ends, through onyx.backend. They need the package onnx; its models are made by its tests.

Run by itself, this file is all of them: python -m pytest python/tests/test_backend.py. What Onyx says it does not
implement is skipped."""

import inspect
import unittest

import pytest

try:
    import onnx.backend.test
except ImportError:
    pytest.skip("the package onnx is not installed", allow_module_level=True)

import onyx
import onyx.backend


class Backend(onyx.backend.Backend):
    """Skips what is not implemented."""

    @classmethod
    def prepare(cls, model, device="CPU", **kwargs):
        try:
            return super().prepare(model, device, **kwargs)
        except (onyx.NotImplemented, onyx.InvalidGraph) as error:
            if "not implemented" not in str(error):
                raise
            raise unittest.SkipTest(str(error)) from None


# two units of a float16's last digit: the function's steps are rounded one by one
HALF = {"test_attention_4d_causal_fp16_expanded": {"rtol": 2e-3}}

known = inspect.signature(onnx.backend.test.BackendTest.__init__).parameters
try:
    tests = onnx.backend.test.BackendTest(Backend, __name__, **({"test_kwargs": HALF} if "test_kwargs" in known else {}))
except FileNotFoundError:  # Debian's package
    pytest.skip("the package onnx came without the data of its tests", allow_module_level=True)
tests.exclude("test_(bernoulli|training_dropout)")  # random numbers of another generator
tests.exclude("test_loop16_seq_none")  # the runner cannot compare scalars in sequences
# weights that would be downloaded
tests.exclude("test_(vgg19|resnet50|densenet121|inception_v1|inception_v2|shufflenet|squeezenet|zfnet512|bvlc_alexnet)_")
for name, case in tests.test_cases.items():
    for test in [test for test in dir(case) if test.endswith("_cuda")]:
        delattr(case, test)
    globals()[name] = case
