"""Arrays of JAX go in as they are, and what comes out goes back; within jit by a callback."""

import numpy as np
import pytest
import softamp
from conftest import special_floats

jax = pytest.importorskip("jax", reason="JAX is not installed: bash tests/venv.sh torch brings it")
import jax.numpy as jnp  # noqa: E402

X = special_floats(np.float32)


def test_arrays_of_jax():
    x = jnp.asarray(X)
    for format in ("fp16", "bf16", "e4m3"):
        ours = softamp.round(x, format, rounding="stochastic", seed=3)
        assert ours.tobytes() == softamp.round(X, format, rounding="stochastic", seed=3).tobytes()
        assert jnp.asarray(ours).dtype == ours.dtype
    halves = softamp.round(X, "bf16")
    assert softamp.round(jnp.asarray(halves), "e4m3").tobytes() == softamp.round(halves, "e4m3").tobytes()
    with pytest.raises(ValueError, match="out is read-only"):
        softamp.round(x, "fp16", out=x)


def test_within_jit():
    def rounded(x):
        return softamp.round(np.asarray(x), "bf16", rounding="stochastic", seed=1, result="values")

    call = jax.jit(lambda x: jax.pure_callback(rounded, jax.ShapeDtypeStruct(x.shape, x.dtype), x))
    assert np.asarray(call(jnp.asarray(X))).tobytes() == rounded(X).tobytes()
