# SPDX-License-Identifier: Apache-2.0
"""A function in Python that gets the log."""

import subprocess
import sys
import threading

import numpy as np
import pytest

import onnx_bytes as ob

X = np.ones((2, 2), np.float32)


@pytest.fixture
def log(ort):
    """Sets the function; afterwards there is none again."""
    if not hasattr(ort, "set_default_logger_callback"):
        pytest.skip("older release")
    yield ort.set_default_logger_callback
    ort.set_default_logger_callback(None)
    ort.set_default_logger_severity(2)


def session(ort, cpu, severity=None, name=None):
    options = ort.SessionOptions()
    if severity is not None:
        options.log_severity_level = severity
    if name is not None:
        options.logid = name
    return ort.InferenceSession(ob.add(), options, providers=cpu)


def test_lines_come_with_all_that_they_have(ort, cpu, log):
    lines = []
    assert log(lambda *line: lines.append(line), severity=1) is None
    session(ort, cpu, 0, "mine")
    assert lines
    for severity, *texts in lines:
        assert severity in (0, 1) and len(texts) == 4 and all(type(text) is str for text in texts)
    assert any(line[2] == "mine" for line in lines) and all(line[1] == "onnxruntime" for line in lines)


def test_a_session_keeps_its_own_severity(ort, cpu, log):
    lines = []
    log(lambda *line: lines.append(line))  # warnings
    session(ort, cpu)
    assert not lines
    session(ort, cpu, 0)
    assert lines


def test_none_ends_it(ort, cpu, log):
    lines = []
    log(lambda *line: lines.append(line), 2)
    log(None, 0)  # the severity stays
    session(ort, cpu)
    assert not lines


def test_sessions_that_were_there_use_it(ort, cpu, log):
    lines = []
    before = session(ort, cpu, 0)
    log(lambda *line: lines.append(line), 2)
    before.run(None, {"x": X, "y": X})
    del before
    other = session(ort, cpu, 0)
    other.run(None, {"x": X, "y": X})
    assert lines


@pytest.mark.parametrize("severity", [-1, 5])
@pytest.mark.parametrize("function", [None, print])
def test_severities_that_there_are_not(log, function, severity):
    with pytest.raises(RuntimeError):
        log(function, severity)


def test_what_is_no_function(log):
    with pytest.raises(RuntimeError):
        log(3)
    with pytest.raises(TypeError):
        log(print, "x")
    with pytest.raises(TypeError):
        log()


def test_an_exception_is_reported(ort, cpu, log, monkeypatch):
    reports, calls = [], []
    monkeypatch.setattr(sys, "unraisablehook", lambda report: reports.append(report.exc_type))

    def fail(*line):
        calls.append(line)
        raise ZeroDivisionError

    log(fail)
    made = session(ort, cpu, 0)
    assert calls and reports == [ZeroDivisionError] * len(calls)
    np.testing.assert_array_equal(made.run(None, {"x": X, "y": X})[0], 2 * X)


def test_lines_of_the_function_itself_are_not_passed(ort, cpu, log):
    depths, depth = [], threading.local()

    def nest(*line):
        depth.now = getattr(depth, "now", 0) + 1
        depths.append(depth.now)
        if len(depths) == 1:
            session(ort, cpu, 0)
        depth.now -= 1

    log(nest)
    session(ort, cpu, 0)
    assert set(depths) == {1}


def test_from_several_threads(ort, cpu, log):
    names = set()
    log(lambda *line: names.add((threading.current_thread().name, line[2])))
    threads = [threading.Thread(target=session, args=(ort, cpu, 0, f"t{i}"), name=f"t{i}") for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {(f"t{i}", f"t{i}") for i in range(4)} <= names


def test_a_function_that_is_there_at_the_end(tmp_path):
    script = ("import onyx, onnx_bytes as ob\n"
              "onyx.set_default_logger_callback(lambda *line: print(line[0]), 0)\n"
              "kept = onyx.InferenceSession(ob.add())\n")
    done = subprocess.run([sys.executable, "-c", f"import sys; sys.path[:] = {sys.path!r}\n" + script],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout
