"""Every word that a keyword takes is read without regard to case, '_' as '-': each word of the walks of test_idle.py, which have every
keyword of every function, and of those that the functions name, gives in capitals what it gives as it is."""

import re

import numpy as np
import pytest
import softamp
from test_idle import ALL, result

# What a keyword can be besides the values of the walks: all words of its list.
WORDS = dict(
    rounding="nearest nearest-away zero up down stochastic odd", variant="carry half rne odd at-least", overflow="infinity saturate nan",
    preset="ieee ipu", random="philox philox7", chip="b200 ipu", cast="ocp ocp_saturate onnx ml_dtypes amd nvidia_satfinite",
    result="auto codes values", order="ascending device", products="exact rounded", partials="half float", inner="fma_chain rn32_each exact_dot4",
    accumulator="ipu_model_a fp32_chain tensorcore_hopper", tensor_core_operands="own fp16 bf16", backend="emu auto",
    format="fp16 bf16 fp32 e4m3 float8_e4m3fn mxfp4 nvfp4:rounding=stochastic e4m3_1x128", codes="fp16 bf16",
)  # fmt: skip
NO_WORDS = {"config", "fetches", "feeds", "value", "x"}  # JSON, names of the user's, numbers as texts


def others(word):
    swapped = word.translate(str.maketrans("-_", "_-"))
    return {word.upper(), swapped, swapped.upper()} - {word}


@pytest.mark.parametrize("walk", ALL, ids=lambda walk: walk.name)
def test_words_of_keywords(walk):
    tried = set()
    for call in walk.calls:
        keys = {key for key in call.keys() | walk.settings.keys()}
        for key in sorted(keys - NO_WORDS):
            values = [*walk.settings.get(key, []), call.get(key)]
            if not any(isinstance(value, str) for value in values):
                continue
            assert key in WORDS, f"{key} takes words; name them here"
            for word in {*WORDS[key].split(), *(value for value in values if isinstance(value, str))}:
                if (key, word) in tried or (taken := result(walk.function, {**call, key: word})) is None:
                    continue
                tried.add((key, word))
                for other in others(word):
                    assert result(walk.function, {**call, key: other}) == taken, f"{walk.name}: {key}={other!r} is not {word!r}"


def test_words_of_other_doors():
    assert softamp.Format("FP16") == softamp.Format("fp16")
    assert softamp.reproduce("Harmonic_Series", brief=True, format="E4M3", rounding="NEAREST").tables == (
        softamp.reproduce("harmonic-series", brief=True, format="e4m3", rounding="nearest").tables
    )
    status = softamp.round(np.float32([1e9]), "fp16", flags=True)[1]
    assert status.lowest_index("OVERFLOW") == status.lowest_index("overflow") == 0
    assert status.lowest_index("Divide-By-Zero") is None
    with pytest.raises(ValueError, match=re.escape("order: unknown order 'any'; known: ascending, device")):
        softamp.sum(np.float32([1]), order="any")


def test_old_names_are_said():
    x, words = np.float32([0.1, 0.2]), np.uint32([1, 2**31])
    wanted = softamp.round(x, "fp16", rounding="stochastic", random_words=words)
    with pytest.warns(DeprecationWarning, match="random_bits is called random_words"):
        assert (softamp.round(x, "fp16", rounding="stochastic", random_bits=words) == wanted).all()
    with pytest.warns(DeprecationWarning, match="random_bits is called random_words"):
        softamp.add(wanted, wanted, rounding="stochastic", random_bits=words)
