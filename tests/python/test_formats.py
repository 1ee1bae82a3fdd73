"""Formats, chips and inspect against the command."""

import copy
import pickle

import numpy as np
import pytest
import softamp


def test_formats_are_those_of_the_command(program):
    theirs = program.json("formats")["formats"]
    ours = softamp.formats()
    assert [f.name for f in ours] == [f["name"] for f in theirs]
    for f, their in zip(ours, theirs):
        assert f.names == [their["name"], *their["other_names"]]
        for ours_name, theirs_name in (
            ("bits", "bits"), ("exponent_bits", "exponent_bits"), ("precision", "precision"), ("bias", "bias"),
            ("max", "max"), ("min_normal", "min_normal"), ("min_subnormal", "min_subnormal"), ("epsilon", "epsilon"),
            ("has_infinity", "infinity"), ("has_negative_zero", "negative_zero"), ("origin", "origin"),
        ):  # fmt: skip
            assert getattr(f, ours_name) == their[theirs_name], (f, ours_name)


def test_formats_as_objects():
    half = softamp.Format("fp16")
    assert half == softamp.Format("half") == softamp.Format(np.float16) == softamp.Format(np.dtype("f2"))
    assert half == softamp.Format("e5p11") == softamp.Format(half)
    assert half != softamp.Format("bf16") and half != "fp16"
    assert len({half, softamp.Format("float16"), softamp.Format("bf16")}) == 2
    assert str(half) == "fp16" and repr(half) == "softamp.Format('fp16')"
    assert half.max == np.finfo(np.float16).max and half.epsilon == np.finfo(np.float16).eps
    assert softamp.Format("e5p9").name == "e5p9" and softamp.Format("e5p9").dtype is None


def test_chips_are_those_of_the_command(program):
    theirs = program.json("chips")["chips"]
    assert [c.name for c in softamp.chips()] == [c["name"] for c in theirs]
    for chip, their in zip(softamp.chips(), theirs):
        assert chip.title == their["title"]
    assert softamp.Chip("b200") == softamp.Chip("nvidia_sm100") and str(softamp.Chip("b200")) == "nvidia_sm100"


@pytest.mark.parametrize("format", ["fp16", "bf16", "e4m3", "f143", "e2m1", "fp32", "fp64"])
@pytest.mark.parametrize("text", ["0.1", "-2.5e-8", "0x1.8p-3", "inf", "nan", "70000", "0", "1e400", "0x1"])
def test_inspect_is_that_of_the_command(program, format, text):
    assert softamp.inspect(text, format) == program.json("inspect", text, "--format", format)


def test_inspect_of_python_numbers():
    assert softamp.inspect(0.1)["code"] == "0x2e66"
    assert softamp.inspect(1)["class"] == "normal"
    assert softamp.inspect(np.float32(0.1), "fp32")["representable"]
    assert softamp.inspect(float("inf"))["class"] == "infinity"
    shown = softamp.inspect("0.1", "bf16", bits=4, overflow="saturate")
    assert shown["settings"] == {"bits": 4, "overflow": "saturate", "preset": "ieee"}


def test_equality_and_copies():
    things = [softamp.Format("e4m3"), softamp.Chip("b200"), softamp.behaviour(inv=True, esr=True)]
    for thing in things:
        assert (thing == None) is False and thing != 3 and thing in [None, thing]  # noqa: E711
        for again in (copy.copy(thing), copy.deepcopy(thing), pickle.loads(pickle.dumps(thing))):
            assert again == thing and type(again) is type(thing)
    assert things[0] != things[1]


@pytest.mark.parametrize("name", ["\x1b[31m", "fp16\0x", "\x9b"])
def test_names_in_messages_are_printable(name):
    for call in (lambda: softamp.Format(name), lambda: softamp.round(1.0, rounding=name), lambda: softamp.Chip(name)):
        with pytest.raises(ValueError) as caught:
            call()
        assert str(caught.value).isprintable() and ("x1b" in str(caught.value) or "x" in str(caught.value))
