# SPDX-License-Identifier: Apache-2.0
"""Real models with recorded inputs and outputs, where there are any: in the folder models of SHARED (../shared)."""

import os
import pathlib

import numpy as np
import pytest

import onnx_read
import onyx

SHARED = pathlib.Path(os.environ.get("SHARED", "../shared"))
CASES = sorted(SHARED.glob("models/*/test_data_set_*"))


def read(folder, kind, ports):
    """{name: array or list}: by the name in the file, else by its number."""
    out = {}
    for path in folder.glob(f"{kind}_*.pb"):
        port = ports[int(path.stem.split("_")[1])]
        parse = onnx_read.sequence if port.type.startswith("seq") else onnx_read.tensor
        name, value = parse(path.read_bytes())
        out[name or port.name] = value
    return out


@pytest.mark.skipif(not CASES, reason=f"there are no models in {SHARED}/models")
@pytest.mark.parametrize("folder", CASES, ids=[f"{p.parent.name}-{p.name[-1]}" for p in CASES])
def test_recorded_outputs(folder):
    (model,) = folder.parent.glob("*.onnx")
    session = onyx.InferenceSession(model)
    feeds = read(folder, "input", session.get_inputs() + session.get_overridable_initializers())
    wanted = read(folder, "output", session.get_outputs())
    names = list(wanted)
    for name, got in zip(names, session.run(names, feeds)):
        want = wanted[name]
        if isinstance(want, list):
            assert got == [pytest.approx(row, abs=1e-3) for row in want]
            continue
        assert got.dtype == want.dtype and got.shape == want.shape
        if folder.parent.name.endswith("_qdq"):
            a, b = got.ravel().astype(float), want.ravel().astype(float)
            assert a @ b / np.sqrt((a @ a) * (b @ b)) > 0.995
        elif want.dtype.kind == "f":
            np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-3)
        else:
            np.testing.assert_array_equal(got, want)
