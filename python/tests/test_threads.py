# SPDX-License-Identifier: Apache-2.0
"""Threads, asynchronous runs, Ctrl-C, memory of large inputs."""

import concurrent.futures
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import onnx_bytes as ob

X = np.ones((2, 2), np.float32)


def matrix_model(n):
    """z = x * x * x ... of n matrices."""
    nodes, at = [], "x"
    for i in range(n):
        nodes.append(ob.node("MatMul", [at, "x"], [f"m{i}"]))
        at = f"m{i}"
    kind = ob.tensor_type(ob.FLOAT, ["N", "N"])
    return ob.model(nodes + [ob.node("Identity", [at], ["z"])], {"x": kind}, {"z": kind})


def test_many_threads(ort, cpu):
    session = ort.InferenceSession(ob.add(), providers=cpu)

    def work(i):
        x = np.full((3, 2), i, np.float32)
        return all((session.run(None, {"x": x, "y": x})[0] == 2 * i).all() for _ in range(200))

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(32)))


def test_a_session_is_made_anew_while_it_runs():
    """Runs and bindings go on with what they began with."""
    import onyx

    session = onyx.InferenceSession(ob.add())
    binding = session.io_binding()
    binding.bind_cpu_input("x", X)
    binding.bind_cpu_input("y", X)
    binding.bind_output("z")
    stop, wrong = threading.Event(), []

    def work():
        while not stop.is_set():
            if (session.run(None, {"x": X, "y": X})[0] != 2).any():
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(100):
        session.set_providers(["CPUExecutionProvider"])
    stop.set()
    for thread in threads:
        thread.join()
    session.run_with_iobinding(binding)
    assert not wrong and (binding.copy_outputs_to_cpu()[0] == 2).all()
    binding.synchronize_inputs()


def test_the_interpreter_goes_on(ort, cpu):
    """While a run is under way, other threads of Python run."""
    session = ort.InferenceSession(matrix_model(8), providers=cpu)
    x = np.eye(700, dtype=np.float32)
    done, counts = threading.Event(), []

    def count():
        n = 0
        while not done.is_set():
            n += 1
            done.wait(0.0005)
        counts.append(n)

    counter = threading.Thread(target=count)
    counter.start()
    try:
        for _ in range(5):
            session.run(None, {"x": x})
    finally:
        done.set()
        counter.join()
    assert counts[0] > 3


def test_asynchronous_runs(ort, cpu):
    options = ort.SessionOptions()
    options.intra_op_num_threads = 2
    session = ort.InferenceSession(ob.add(), options, providers=cpu)
    done, got = threading.Event(), []

    def back(outputs, user_data, error):
        got.append((outputs, user_data, error))
        if len(got) == 20:
            done.set()

    for i in range(20):
        session.run_async(None, {"x": X * i, "y": X}, back, i)
    assert done.wait(20)
    for outputs, i, error in got:
        assert error == ""
        np.testing.assert_array_equal(outputs[0], X * i + 1)


def test_an_asynchronous_run_that_fails(ort, cpu):
    options = ort.SessionOptions()
    options.intra_op_num_threads = 2
    model = ob.model([ob.node("Add", ["x", "y"], ["z"])],
                     {"x": ob.tensor_type(ob.FLOAT, ["N"]), "y": ob.tensor_type(ob.FLOAT, ["M"])},
                     {"z": ob.tensor_type(ob.FLOAT, ["K"])})
    session = ort.InferenceSession(model, options, providers=cpu)
    done, got = threading.Event(), []
    session.run_async(None, {"x": np.ones(2, np.float32), "y": np.ones(3, np.float32)},
                      lambda *args: (got.append(args), done.set()), "data")
    assert done.wait(20)
    assert got[0][0] == [] and got[0][1] == "data" and "Add" in got[0][2]


# ---- ours only: a run that Ctrl-C cancels, inputs that are not copied ----


def run_script(code, *args, **more):
    script = "import sys; sys.path[:] = %r\n%s" % (sys.path, code)
    return subprocess.run([sys.executable, "-c", script, *args], capture_output=True, text=True, timeout=120, **more)


LONG_RUN = """
import os, signal, threading, time
import numpy as np, onnx_bytes as ob, test_threads, onyx
session = onyx.InferenceSession(test_threads.matrix_model(3000))
x = np.eye(600, dtype=np.float32)
session.run(None, {"x": x[:2, :2]})
threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
start = time.monotonic()
"""


def test_ctrl_c_cancels_a_run():
    result = run_script(LONG_RUN + """
try:
    session.run(None, {"x": x})
    print("went through", time.monotonic() - start)
except KeyboardInterrupt:
    print("cancelled" if time.monotonic() - start < 3 else "late")
print(session.run(None, {"x": x[:2, :2]})[0].tolist())
""")
    assert result.stdout.split("\n")[:2] == ["cancelled", "[[1.0, 0.0], [0.0, 1.0]]"], result


def test_a_handler_of_the_program_decides():
    """It notes the signal and lets the run go on: the run gives its result."""
    result = run_script(LONG_RUN.replace("3000", "1000") + """
seen = []
signal.signal(signal.SIGINT, lambda *args: seen.append(1))
z = session.run(None, {"x": x})[0]
print(len(seen), z.sum() == 600)
signal.signal(signal.SIGINT, signal.default_int_handler)
print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)
""")
    assert result.stdout.split("\n")[:2] == ["1 True", "True"], result


def test_ctrl_c_in_a_binding_and_with_options():
    result = run_script(LONG_RUN + """
binding = session.io_binding()
binding.bind_cpu_input("x", x)
binding.bind_output("z")
options = onyx.RunOptions()
try:
    session.run_with_iobinding(binding, options)
    print("went through")
except KeyboardInterrupt:
    print("cancelled" if time.monotonic() - start < 3 else "late")
print(session.run(None, {"x": x[:2, :2]}, options)[0].shape)
""")
    assert result.stdout.split("\n")[:2] == ["cancelled", "(2, 2)"], result


def test_a_large_input_is_not_copied():
    result = run_script("""
import resource
import numpy as np, onnx_bytes as ob, onyx
kind = ob.tensor_type(ob.FLOAT, ["N"])
model = ob.model([ob.node("Shape", ["x"], ["s"]), ob.node("Slice", ["x", "a", "b"], ["z"])], {"x": kind},
                 {"s": ob.tensor_type(ob.INT64, [1]), "z": kind}, {"a": np.array([0]), "b": np.array([3])})
session = onyx.InferenceSession(model)
x = np.ones(25_000_000, np.float32)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for _ in range(5):
    s, z = session.run(None, {"x": x})
assert s[0] == len(x) and z.tolist() == [1, 1, 1]
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 20_000)
""")
    assert result.stdout.strip() == "True", result


COUNT = """
import os, sys
import numpy as np
import onnx_bytes as ob
import onyx

def count():
    # one watches for Ctrl-C and computes nothing
    names = [open(f"/proc/self/task/{thread}/comm").read().strip() for thread in os.listdir("/proc/self/task")]
    return sum(name != "onyx-ctrl-c" for name in names)

n = int(sys.argv[1])
before = count()
options = onyx.SessionOptions()
options.intra_op_num_threads = n
kind = ob.tensor_type(ob.FLOAT, [256, 256])
nodes = [ob.node("MatMul", ["x", "x"], ["a"]), ob.node("Relu", ["a"], ["b"]), ob.node("MatMul", ["b", "x"], ["y"])]
session = onyx.InferenceSession(ob.model(nodes, {"x": kind}, {"y": kind}), options)
x = np.ones((256, 256), np.float32)
for i in range(200):
    session.run(None, {"x": x})
print(count() - before + 1)
"""


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="nobody lists the threads of a process here")
@pytest.mark.parametrize("n", [1, 2, 4])
def test_a_session_has_no_more_threads_than_it_asked_for(n):
    done = subprocess.run([sys.executable, "-c", COUNT, str(n)], stdout=subprocess.PIPE, check=True,
                          env=dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path)))
    assert (2 if n > 1 else 1) <= int(done.stdout) <= n
