# SPDX-License-Identifier: Apache-2.0
"""What is run: models as files, and the same inputs for everybody in the forms that the programs read.

A case is a folder as onyx takes it, model.onnx and test_data_set_0/input_N.pb, and a folder of data with input_N.pb
(raw_data only, which needs no library to read) and input_N.npy."""
import os
import pathlib
import shutil
import zlib

import numpy
import onnx
from onnx import numpy_helper


class Case:
    """|outputs|: names of those that are tensors, by their place among all; the others are not compared."""
    def __init__(self, name, folder, data, outputs):
        self.name, self.folder, self.data, self.outputs = name, folder, data, outputs
        self.model = folder / "model.onnx"


def array_type(element):
    """NumPy's type for a TensorProto's; newer releases of onnx have a function for it, older a table."""
    if hasattr(onnx.helper, "tensor_dtype_to_np_dtype"):
        return onnx.helper.tensor_dtype_to_np_dtype(element)
    return onnx.mapping.TENSOR_TYPE_TO_NP_TYPE[element]


def random_array(rng, element, shape):
    """Integers are 0 or 1: indices and masks that hold anywhere."""
    dtype = numpy.dtype(array_type(element))
    if element == onnx.TensorProto.STRING:
        raise ValueError("random strings: give a folder with test_data_set_0/")
    if dtype.kind in "iub":
        return rng.integers(0, 2, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def random_inputs(graph, name, dims):
    """The same numbers in every run: the seed is the model's name."""
    rng = numpy.random.default_rng(zlib.crc32(name.encode()))
    constants = {i.name for i in graph.initializer}
    arrays = []
    for value in graph.input:
        if value.name in constants:
            continue
        if not value.type.HasField("tensor_type"):
            raise ValueError(f"input '{value.name}' is no tensor: give a folder with test_data_set_0/")
        sizes = value.type.tensor_type.shape.dim
        shape = [d.dim_value if d.HasField("dim_value") else dims.get(d.dim_param, 1) for d in sizes]
        arrays.append(random_array(rng, value.type.tensor_type.elem_type, shape))
    return arrays


def recorded_inputs(folder):
    count = len(list(folder.glob("input_*.pb")))
    tensors = [onnx.TensorProto.FromString((folder / f"input_{i}.pb").read_bytes()) for i in range(count)]
    return [numpy_helper.to_array(t) for t in tensors]


def write_arrays(folder, arrays):
    folder.mkdir(parents=True)
    for i, array in enumerate(arrays):
        tensor = numpy_helper.from_array(numpy.asarray(array))
        (folder / f"input_{i}.pb").write_bytes(tensor.SerializeToString())
        numpy.save(folder / f"input_{i}.npy", array)


def take_file(source, target):
    """A second name where the file system allows it: runtimes refuse symbolic links out of a model's folder."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def external_files(model):
    return {entry.value for tensor in model.graph.initializer for entry in tensor.external_data
            if tensor.data_location == onnx.TensorProto.EXTERNAL and entry.key == "location"}


def prepare(path, work, dims):
    """The case of a folder, or of a plain model with random inputs; files go under |work|."""
    path = pathlib.Path(path)
    name = path.name if path.is_dir() else path.stem
    model = onnx.load(str(path / "model.onnx" if path.is_dir() else path), load_external_data=False)
    outputs = {i: o.name for i, o in enumerate(model.graph.output) if o.type.HasField("tensor_type")}
    data = work / name / "data"
    if data.exists():
        raise ValueError(f"two models are called {name}")
    recorded = path / "test_data_set_0"
    if path.is_dir() and recorded.is_dir():
        write_arrays(data, recorded_inputs(recorded))
        return Case(name, path, data, outputs)
    write_arrays(data, random_inputs(model.graph, name, dims))
    folder = work / name / "model"
    home = path if path.is_dir() else path.parent
    take_file(home / "model.onnx" if path.is_dir() else path, folder / "model.onnx")
    for location in external_files(model):
        take_file(home / location, folder / location)
    shutil.copytree(data, folder / "test_data_set_0", ignore=shutil.ignore_patterns("*.npy"))
    return Case(name, folder, data, outputs)


def write_case(model, arrays, name, work):
    """The case of a model that the caller has built."""
    folder, data = work / name / "model", work / name / "data"
    write_arrays(data, arrays)
    shutil.copytree(data, folder / "test_data_set_0", ignore=shutil.ignore_patterns("*.npy"))
    onnx.save(model, str(folder / "model.onnx"))
    return Case(name, folder, data, dict(enumerate(o.name for o in model.graph.output)))
