# SPDX-License-Identifier: Apache-2.0
"""What Onyx has and ONNX Runtime has not: plans, tables of times, types of ml_dtypes."""

import numpy as np
import pytest

import onnx_bytes as ob
import onyx

X = np.ones((2, 2), np.float32)


@pytest.fixture
def session():
    kind = ob.tensor_type(ob.FLOAT, ["N", 2])
    nodes = [ob.node("MatMul", ["x", "w"], ["a"], name="first"), ob.node("Relu", ["a"], ["b"], name="second"),
             ob.node("Softmax", ["b"], ["z"], name="third")]
    return onyx.InferenceSession(ob.model(nodes, {"x": kind}, {"z": kind}, {"w": X}))


def test_a_plan(session):
    plan = session.plan({"x": (4, 2)})
    assert len(plan) == plan.nodes and {row.provider for row in plan} <= {"cpu", "host"}
    assert "third" in [row.name for row in plan]
    assert plan.parameters >= 4 and plan.parameter_bytes >= 16 and plan.workspace_bytes >= 0
    assert sum(plan.providers().values()) == len(plan)
    assert "Softmax" in repr(plan) and "<table>" in plan._repr_html_() and "Softmax" in plan._repr_html_()
    assert session.plan().workspace_bytes is None
    with pytest.raises(ValueError, match="x"):
        session.plan({"q": (4, 2)})


def test_times(session):
    table = session.profile({"x": X}, repeat=3)
    rows = table.by_node()
    assert "Softmax" in [op for _, op, *_ in rows] and all(calls == 3 for *_, calls, _ in rows)
    assert table.total_us() > 0 and len(table) == 3 * len(rows)
    assert "Softmax" in repr(table) and "<table>" in table._repr_html_()
    with session.profile() as table:
        session.run(None, {"x": X})
    assert all(calls == 1 for *_, calls, _ in table.by_node())


def test_html_is_escaped():
    kind = ob.tensor_type(ob.FLOAT, [2])
    session = onyx.InferenceSession(ob.model([ob.node("Neg", ["x"], ["z"], name="<b>")], {"x": kind}, {"z": kind}))
    assert "<b>" not in session.plan()._repr_html_()


ML = {ob.BFLOAT16: "bfloat16", ob.FLOAT8E4M3FN: "float8_e4m3fn", ob.FLOAT8E4M3FNUZ: "float8_e4m3fnuz",
      ob.FLOAT8E5M2: "float8_e5m2", ob.FLOAT8E5M2FNUZ: "float8_e5m2fnuz", ob.UINT4: "uint4", ob.INT4: "int4",
      ob.FLOAT4E2M1: "float4_e2m1fn"}


@pytest.mark.parametrize("onnx", ML)
@pytest.mark.parametrize("n", [0, 1, 2, 5])
def test_types_of_ml_dtypes(onnx, n):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    if not hasattr(ml_dtypes, ML[onnx]):
        pytest.skip(f"ml_dtypes has no {ML[onnx]}")
    dtype = np.dtype(getattr(ml_dtypes, ML[onnx]))
    x = np.array([1, -2, 3, 0, -1][:n], np.float32)
    x = np.abs(x) if onnx == ob.UINT4 else x
    cast = onyx.InferenceSession(ob.model([ob.node("Cast", ["x"], ["z"], to=onnx)], {"x": ob.tensor_type(ob.FLOAT, ["N"])},
                                          {"z": ob.tensor_type(onnx, ["N"])}, opset=23))
    (z,) = cast.run(None, {"x": x})
    assert z.dtype == dtype and z.astype(np.float32).tolist() == x.tolist()
    back = onyx.InferenceSession(ob.model([ob.node("Cast", ["x"], ["z"], to=ob.FLOAT)], {"x": ob.tensor_type(onnx, ["N"])},
                                          {"z": ob.tensor_type(ob.FLOAT, ["N"])}, opset=23))
    np.testing.assert_array_equal(back.run(None, {"x": z})[0], x)


def test_without_ml_dtypes(monkeypatch):
    import subprocess
    import sys

    code = """
import sys; sys.path[:] = %r
sys.modules["ml_dtypes"] = None
import numpy as np, onnx_bytes as ob, onyx
s = onyx.InferenceSession(ob.model([ob.node("Cast", ["x"], ["z"], to=16)], {"x": ob.tensor_type(1, ["N"])},
                                   {"z": ob.tensor_type(16, ["N"])}))
x = onyx.OrtValue.ortvalue_from_numpy(np.ones(2, np.float32))
assert s.run_with_ort_values(None, {"x": x})[0].data_type() == "tensor(bfloat16)"
try:
    s.run(None, {"x": x})
except RuntimeError as error:
    assert "ml_dtypes" in str(error)
    print("refused")
""" % (sys.path,)
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "refused"


def test_other_byte_orders_and_bytes():
    session = onyx.InferenceSession(ob.unary("Identity"))
    np.testing.assert_array_equal(session.run(None, {"x": np.array([1, 2], ">f4")})[0], [1, 2])
    session = onyx.InferenceSession(ob.unary("Identity", ob.STRING))
    assert session.run(None, {"x": np.array([b"a", b"bc"])})[0].tolist() == ["a", "bc"]
    assert session.run(None, {"x": np.array([b"a", "b\0c"], object)})[0].tolist() == ["a", "b\0c"]


def test_a_file_of_an_adapter(tmp_path):
    path = tmp_path / "adapter.onnx_adapter"
    adapter = onyx.AdapterFormat()
    adapter.set_adapter_version(3)
    adapter.set_model_version(4)
    arrays = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "long name": np.array([1, 2, 3], np.int64),
              "empty": np.zeros((0, 4), np.float16)}
    adapter.set_parameters({name: onyx.OrtValue.ortvalue_from_numpy(array) for name, array in arrays.items()})
    adapter.export_adapter(path)
    other = onyx.AdapterFormat.read_adapter(path)
    assert (other.get_format_version(), other.get_adapter_version(), other.get_model_version()) == (1, 3, 4)
    assert set(other.get_parameters()) == set(arrays)
    for name, value in other.get_parameters().items():
        np.testing.assert_array_equal(value.numpy(), arrays[name])
        assert value.numpy().dtype == arrays[name].dtype
    data = path.read_bytes()
    for cut in range(len(data)):
        (tmp_path / "cut").write_bytes(data[:cut])
        with pytest.raises(RuntimeError):
            onyx.AdapterFormat.read_adapter(tmp_path / "cut")


def test_dlpack_keeps_memory():
    array = np.from_dlpack(onyx.OrtValue.ortvalue_from_numpy(np.full(100000, 7, np.float32)))
    value = onyx.OrtValue.from_dlpack(np.full(100000, 8, np.float32))
    junk = [np.zeros(100000, np.float32) for _ in range(10)]
    assert (array == 7).all() and (value.numpy() == 8).all() and junk


def test_copying():
    a = onyx.OrtValue.ortvalue_from_numpy(X.copy())
    b = onyx.OrtValue.ortvalue_from_shape_and_type([2, 2], np.float32)
    onyx.copy_tensors([a], [b])
    np.testing.assert_array_equal(b.numpy(), X)


def test_a_seed():
    kind = ob.tensor_type(ob.FLOAT, [16])
    session = onyx.InferenceSession(ob.model([ob.node("RandomNormal", [], ["z"], shape=[16])], {}, {"z": kind}))
    onyx.set_seed(7)
    a, b = (session.run(None, {})[0] for _ in range(2))
    onyx.set_seed(7)
    again = session.run(None, {})[0]
    assert a.tolist() == again.tolist() != b.tolist()


@pytest.mark.parametrize("name", ["cpu", "CPU", "CPUExecutionProvider", ("cpu", {"precision": "tf32"})])
def test_providers_go_by_any_name(name):
    session = onyx.InferenceSession(ob.add(), providers=[name], enable_fallback=0)
    assert session.get_providers() == ["CPUExecutionProvider"]
    options = session.get_provider_options()["CPUExecutionProvider"]
    assert options == (name[1] if isinstance(name, tuple) else {})


@pytest.mark.parametrize("given", ["onednn", "oneDNNExecutionProvider", "DNNL", "MKLDNNExecutionProvider"])
def test_names_may_have_executionprovider_behind_them(given):
    assert onyx.providers.name_of(given) == "DnnlExecutionProvider"


def test_options_of_the_cpu_are_checked():
    with pytest.raises(Exception, match="precision"):
        onyx.InferenceSession(ob.add(), providers=[("CPUExecutionProvider", {"precision": "f31"})], enable_fallback=0)


def test_a_provider_that_is_not_there_says_what_it_takes():
    with pytest.warns(UserWarning, match="CoreML"):
        session = onyx.InferenceSession(ob.add(), providers=["CoreMLExecutionProvider"])
    assert session.get_providers() == ["CPUExecutionProvider"]
    with pytest.warns(UserWarning, match="libonyx-nobody.so"), pytest.raises(RuntimeError):
        onyx.InferenceSession(ob.add(), providers=["nobody"], enable_fallback=0)


@pytest.mark.parametrize("given", [None, "/elsewhere"])
def test_libraries_of_cuda_in_python_packages_are_shown(tmp_path, given):
    import os
    import subprocess
    import sys
    for package in ("cudnn", "cublas"):
        (tmp_path / "nvidia" / package / "lib").mkdir(parents=True)
    code = ("import os, sys; sys.path[:0] = %r; import onyx; onyx.get_available_providers();"
            "print(os.environ['ONYX_CUDA_PATH'])" % ([str(tmp_path)] + sys.path,))
    env = {key: value for key, value in os.environ.items() if key != "ONYX_CUDA_PATH"}
    seen = subprocess.run([sys.executable, "-c", code], env=dict(env, **({"ONYX_CUDA_PATH": given} if given else {})),
                          capture_output=True, text=True).stdout.strip()
    assert seen == (given or f"{tmp_path}/nvidia/cublas/lib:{tmp_path}/nvidia/cudnn/lib")
