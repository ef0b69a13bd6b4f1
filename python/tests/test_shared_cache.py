# SPDX-License-Identifier: Apache-2.0
"""A decoder's cache in one buffer, bound as past and as present (what others call past_present_share_buffer)."""

import numpy as np

import onnx_bytes as ob

ROWS, HEADS, SIZE = 16, 2, 8


def attention():
    cache = ob.tensor_type(ob.FLOAT, [1, HEADS, ROWS, SIZE])
    inputs = {name: ob.tensor_type(ob.FLOAT, [1, "S", HEADS * SIZE]) for name in "qkv"}
    inputs |= {"past_k": cache, "past_v": cache, "lens": ob.tensor_type(ob.INT32, [1]),
               "total": ob.tensor_type(ob.INT32, [])}
    node = ob.node("GroupQueryAttention", list(inputs), ["y", "present_k", "present_v"], domain="com.microsoft",
                   num_heads=HEADS, kv_num_heads=HEADS)
    return ob.model([node], inputs, {"y": ob.tensor_type(ob.FLOAT, [1, "S", HEADS * SIZE]), "present_k": cache,
                                     "present_v": cache})


def step(past, fresh):
    rng = np.random.default_rng(past)
    feed = {name: rng.standard_normal((1, fresh, HEADS * SIZE), np.float32) for name in "qkv"}
    feed["lens"], feed["total"] = np.array([past + fresh - 1], np.int32), np.array(past + fresh, np.int32)
    return feed


def test_one_buffer_for_past_and_present(ort, cpu):
    session = ort.InferenceSession(attention(), providers=cpu)
    plain = [np.full((1, HEADS, ROWS, SIZE), 7, np.float32) for _ in range(2)]
    shared = [ort.OrtValue.ortvalue_from_numpy(array.copy()) for array in plain]
    past = 0
    for fresh in (4, 1, 1, 1, 1):
        feed = step(past, fresh)
        want, *plain = session.run(None, {**feed, "past_k": plain[0], "past_v": plain[1]})
        binding = session.io_binding()
        for name, array in feed.items():
            binding.bind_cpu_input(name, array)
        for name, value in zip("kv", shared):
            binding.bind_ortvalue_input(f"past_{name}", value)
            binding.bind_ortvalue_output(f"present_{name}", value)
        binding.bind_output("y")
        session.run_with_iobinding(binding)
        np.testing.assert_array_equal(binding.copy_outputs_to_cpu()[2], want)
        past += fresh
        for a, b in zip(plain, shared):
            np.testing.assert_array_equal(b.numpy()[:, :, :past], a[:, :, :past])
            assert (b.numpy()[:, :, past:] == 7).all()
