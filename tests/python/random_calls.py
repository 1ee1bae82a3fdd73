#!/usr/bin/env python3
"""Random calls of the module, good and bad, with arrays of NumPy's and of others (foreign_arrays.py).

    random_calls.py calls COUNT SEED     each returns, or raises an exception of ALLOWED; anything else is a fault, and a crash ends
                                         the process: the last line of standard output then is the call. Arrays that are not for
                                         output keep their bytes, and what is returned is the same with arrays of NumPy's own
                                         in the place of others', and with an output of its own in the place of one that is given
    random_calls.py refusals COUNT SEED  calls that are refused, again and again: in constant memory
    random_calls.py exits COUNT SEED     processes that end while daemon threads call: exit code 0, nothing on standard error
"""

import collections
import ctypes
import gc
import random
import subprocess
import sys
import threading
import time
import warnings

import foreign_arrays
import numpy as np
import softamp

ALLOWED = (ValueError, TypeError, BufferError, softamp.FloatingPointException)
FORMATS = ["fp16", "bf16", "tf32", "fp32", "fp64", "e4m3", "e5m2", "f143", "f152", "e2m1", "e2m3", "e3m2", "e5p9", "e2p2",
           "e8p24", "e9p3", "", "fp61", None, 16, np.float16, np.float32, np.int8, softamp.Format("bf16"), b"fp16", "f\0p"]
BLOCKS = ["mxfp4", "mxfp8_e4m3", "mxint8", "nvfp4", "nvfp4_16x16", "e4m3_tensor", "e4m3_row", "e4m3_1x128", "e5m2_128x128",
          "e2m1", "mxfp4:block=1", "mxfp4:block=0", "nvfp4:rounding=stochastic", "mxfp4:bits=99", "mx", "", None, 4]
SHAPES = [(), (0,), (1,), (7,), (64,), (3, 5), (2, 0, 3), (16, 16), (2, 3, 4, 5), (1, 1, 1, 1, 1, 1, 1, 1), (1,) * 9]
DTYPES = ["f4", "f8", "f2", "u1", "u2", "u4", "u8", "i1", "i4", "i8", "?", ">f4", ">f8", ">f2", "c8", "O", "U3", "g", "M8[s]"]
OF_RANDOM_BITS = {"bits", "variant", "random", "seed", "step", "operation", "first_index", "replicas"}
WORDS = [None, "nearest", "nearest-away", "zero", "up", "down", "stochastic", "odd", "carry", "half", "rne", "at-least",
         "infinity", "saturate", "nan", "ieee", "ipu", "philox", "philox7", "xoroshiro128aox", "b200", "amd_cdna3",
         "intel_xe", "p3109_rne", "exact", "", "x" * 1000, "\0", "\ud800", 3, float("nan"), [], {}]
NUMBERS = [0, 1, 2, 7, 13, 32, 33, 64, 1024, 1025, 2**24 - 1, 2**24, 2**32 - 1, 2**32, 2**64 - 1, 2**64, 10**40, -1, True, None,
           1.0, 1.5, float("nan"), float("inf"), "1", np.int64(3), np.uint64(2**63), np.float32(2), [], b"1"]
AXES = [0, 1, 2, -1, -2, -3, 8, 2**31 - 1, -(2**31), 2**40, None, 1.0]
try:
    import ml_dtypes

    DTYPES += [getattr(ml_dtypes, n) for n in ("bfloat16", "float8_e4m3fn", "float8_e5m2", "float4_e2m1fn", "float8_e8m0fnu",
                                               "int4") if hasattr(ml_dtypes, n)]  # fmt: skip
except ImportError:
    pass


class Calls:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.numpy = np.random.default_rng(seed)
        self.others, self.store, self.tame = [], None, False

    def exported(self, array):
        """The array, or its values as another exporter has them."""
        if array.dtype.kind not in "fiu?" or array.dtype.byteorder == ">" or self.random.random() < 0.6:
            return array
        other = foreign_arrays.exported(self.random, array)
        self.others.append((other, array))
        return other

    def within_more(self, array):
        """The array within a larger one, from which output() may take another part."""
        self.store = np.tile(array.ravel(), 2)
        at = self.random.randint(0, array.size)
        return self.store[at : at + array.size].reshape(array.shape)

    def overlapping(self):
        """An operand and an output of the same store: the same elements, or not."""
        store = self.numpy.standard_normal(600).astype(self.one_of(["f4", "f2"]))
        size, shift = self.one_of([1, 16, 300]), self.one_of([0, 1, 5, 16, 17])
        pair = store[:size], store[shift : shift + size]
        return pair if self.random.random() < 0.5 else pair[::-1]

    def output(self, shape):
        """One that fits or not, can be written or not, apart from the operands or over them."""
        store, size = self.store, int(np.prod(shape))
        if store is None or store.size < size or self.random.random() < 0.2:
            return self.operand(shape)
        at = self.random.randint(0, store.size - size)
        return self.exported(store[at : at + size].reshape(shape)) if self.random.random() < 0.2 else store[at : at + size].reshape(shape)

    def plain(self, argument, is_output=False):
        """A copy of an argument, with arrays of NumPy's in the place of others'; of an output: a new array like it."""
        if isinstance(argument, (tuple, list)):
            return type(argument)(self.plain(one) for one in argument)
        if isinstance(argument, dict):
            return {key: self.plain(one, key == "out") for key, one in argument.items()}
        for other, array in self.others:
            if argument is other:
                argument = array
        if is_output and argument is not None:
            argument = np.asarray(argument)
            return np.empty(argument.shape, argument.dtype)
        return argument.copy() if isinstance(argument, np.ndarray) else argument

    def one_of(self, values):
        return self.random.choice(values)

    def array(self, shape=None):
        shape = self.one_of(SHAPES) if shape is None or self.random.random() < 0.1 else shape
        tame = self.tame or self.random.random() < 0.7
        kind = np.dtype(self.one_of(DTYPES[:3]) if tame else self.one_of(DTYPES))
        if kind.kind in "OUM":
            array = np.zeros(shape, kind)
        else:
            raw = self.numpy.standard_normal(shape) * 2.0 ** self.random.randint(-20, 20)
            raw = np.where(self.numpy.random(shape) < 0.05, np.array(self.one_of([np.nan, np.inf, -np.inf, 0.0])), raw)
            array = np.asarray(raw).astype(kind)
        change = self.random.random()
        if change < 0.05:
            array = array.T
        elif change < 0.1 and array.ndim:
            array = array[::-1]
        elif change < 0.15 and array.ndim:
            array = array[::2]
        elif change < 0.2:
            array = np.broadcast_to(array, array.shape)
        elif change < 0.23 and array.dtype.hasobject is False and array.size:
            padded = np.zeros(array.nbytes + 1, np.uint8)[1:]
            misaligned = padded.view(array.dtype).reshape(array.shape) if array.dtype.kind in "fui" else array
            misaligned[...] = array
            array = misaligned
        elif change < 0.6 and not array.dtype.hasobject and array.ndim < 33:
            array = self.within_more(array)
        return array

    def operand(self, shape=None):
        chance = self.random.random()
        if chance < 0.9 or self.tame:
            return self.exported(self.array(shape))
        if chance < 0.96:
            return foreign_arrays.wrong(self.random)
        return self.one_of([None, 1, 1.5, "x", [1.0, 2.0], [[1], [2, 3]], b"1234", bytearray(8), memoryview(b"abcd"), object(),
                            np.float32(1), {}, ()])  # fmt: skip

    def some(self, options):
        return {k: v() for k, v in options.items() if self.random.random() < (0.15 if self.tame else 0.3)}

    def number(self):
        if self.tame:
            return self.random.randint(1, 20)
        return self.one_of(NUMBERS) if self.random.random() < 0.3 else self.random.randint(0, 20)

    def word(self):
        return self.one_of(WORDS)

    def mode(self):
        return self.one_of(WORDS[1:6]) if self.tame else self.one_of(WORDS[:8]) if self.random.random() < 0.8 else self.word()

    def how(self):
        return self.some({"rounding": self.mode, "bits": self.number, "variant": self.word, "overflow": self.word,
                          "preset": self.word, "random": self.word} if self.random.random() < 0.4 else {"rounding": self.mode})  # fmt: skip

    def where(self):
        return self.some({"seed": self.number, "step": self.number, "operation": self.number, "first_index": self.number,
                          "threads": self.number})  # fmt: skip

    def format(self):
        return self.one_of(FORMATS[:1] if self.tame and self.random.random() < 0.7 else FORMATS)

    def block(self):
        return self.one_of(BLOCKS[:6] if self.tame else BLOCKS)

    def call(self):
        """A name and its arguments. What should return has no settings of random bits that nothing draws."""
        name, arguments, options = self.any_call()
        if self.tame and options.get("rounding") != "stochastic":
            options = {key: value for key, value in options.items() if key not in OF_RANDOM_BITS}
        return name, arguments, options

    def any_call(self):
        self.others, self.store = [], None
        self.tame = self.random.random() < 0.6  # half of the calls should return
        name = self.one_of(["round", "widen", "add", "sub", "mul", "div", "fma", "sqrt", "quantize", "dequantize",
                            "fake_quantize", "sum", "dot", "running_sum", "matmul", "inspect", "Format", "Chip", "graph"])  # fmt: skip
        shape = self.one_of(SHAPES)
        if name == "round":
            more = self.some({"chip": self.word, "random_words": lambda: self.operand(shape), "out": lambda: self.output(shape),
                              "result": lambda: self.one_of(["auto", "codes", "values", "", 1]),
                              "flags": lambda: self.one_of([True, False, 1, None]),
                              "packed": lambda: self.one_of([True, True, False, 1])} if self.random.random() < 0.5 else {})  # fmt: skip
            x = self.operand(shape)
            if self.random.random() < 0.15:
                x, more["out"] = self.overlapping()
            return name, (x, self.format()), {**self.how(), **self.where(), **more}
        if name == "widen":
            return name, (self.operand(shape),), self.some({"format": self.format, "out": lambda: self.output(shape)})
        if name in ("add", "sub", "mul", "div", "fma", "sqrt"):
            count = {"fma": 3, "sqrt": 1}.get(name, 2)
            first = self.operand(shape)
            operands = tuple(first if self.random.random() < 0.6 else self.operand(shape) for _ in range(count))
            more = self.some({"format": self.format, "out": lambda: self.output(shape), "flags": lambda: True})
            if self.random.random() < 0.05:
                first, more["out"] = self.overlapping()
                operands = (first,) * count
            return name, operands, {**self.how(), **self.where(), **more}
        if name in ("quantize", "fake_quantize"):
            more = self.some({"axis": lambda: self.one_of(AXES)})
            if name == "quantize":
                more.update(self.some({"amax": self.number}))
            else:
                more.update(self.some({"out": lambda: self.output(shape)}))
            x = self.operand(shape)
            if name == "fake_quantize" and self.random.random() < 0.1:
                x, more["out"] = self.overlapping()
            return name, (x, self.block()), {**self.where(), **more}
        if name == "dequantize":
            more = self.some({"axis": lambda: self.one_of(AXES), "amax": self.number})
            codes = np.zeros(shape, np.uint8) if self.random.random() < 0.7 else self.operand(shape)
            return name, (codes, self.operand(), self.block()), more
        if name in ("sum", "dot", "running_sum"):
            more = self.some({"start": self.number, "replicas": self.number, "seed": self.number, "operation": self.number,
                              "report": lambda: True})  # fmt: skip
            if more.get("replicas") in (1024, 2**24 - 1):
                more["replicas"] = 100
            if name == "running_sum":
                count = self.one_of([0, 1, 10, 500, -1, 1.5, None, "3"])
                return name, (self.one_of([0.1, 1, -3, 1e9, float("nan"), np.float32(2)]), count, self.format()), {**self.how(), **more}
            operands = (self.operand(shape),) if name == "sum" else (self.operand(shape), self.operand(shape))
            if self.random.random() < 0.3:
                more = self.some({"partials": lambda: self.one_of(["half", "float", "x", 1]), "seed": self.number})
                if name == "dot":
                    more.update(self.some({"accumulator": lambda: self.one_of(["fp32_chain", "tensorcore_hopper"])}))
            return name, (*operands, self.format()), {**self.how(), **more}
        if name == "matmul":
            m, k, n = (self.random.randint(0, 6) for _ in range(3))
            more = self.some({"partials": lambda: self.one_of(["half", "float", "x", 1]), "block": self.number,
                              "inner": lambda: self.one_of(["fma_chain", "exact_dot4", "x"]),
                              "accumulator": lambda: self.one_of(["fp32_chain", "tensorcore_volta", "tensorcore_hopper", "x"]),
                              "tensor_core_operands": lambda: self.one_of(["own", "e4m3", "x"]), "seed": self.number,
                              "c": lambda: self.operand((n,)), "transpose_a": lambda: self.one_of([True, False, 1, None])})  # fmt: skip
            return name, (self.operand((m, k)), self.operand((k, n)), self.one_of(["fp16", "bf16", "fp32", "e4m3"])), {**self.how(), **more}
        if name == "inspect":
            return name, (self.one_of([0.1, 1, "0.1", "nan", "-inf", "0x3c00", "0x", "1e9999", "1e-9999", "9" * 500, "", None]),
                          self.format()), self.some({"bits": self.number, "overflow": self.word})  # fmt: skip
        if name in ("Format", "Chip"):
            return name, (self.format() if name == "Format" else self.word(),), {}
        dtype = self.one_of(["float16", "float32", "int32", "bfloat16", "string", "x", 1])
        nodes = [{"name": "x", "op": "Placeholder", "attributes": {"dtype": dtype, "shape": self.one_of([[3], [], [0], [-1], 3])}},
                 {"name": "y", "op": self.one_of(["Relu", "Exp", "Softmax", "MatMul", "Q"]), "inputs": ["x"]}]  # fmt: skip
        options = self.some({"seed": self.number, "partials": self.word, "bits": self.number, "threads": self.number,
                             "status": lambda: self.one_of([True, 1])})  # fmt: skip
        return name, (nodes, {"x": self.operand((3,))}, self.one_of([None, ["y"], "y", ["y:1"], [3], ["x", "y"]])), options


def carry_out(name, arguments, options):
    if name != "graph":
        return getattr(softamp, name)(*arguments, **options)
    nodes, feeds, fetches = arguments
    return softamp.Graph({"softamp_graph": 1, "nodes": nodes, "outputs": ["y"]}).run(feeds, fetches, **options)


def bits(result):
    """What a call returned, to be compared."""
    if isinstance(result, foreign_arrays.Foreign):
        result = result.owner
    if isinstance(result, dict):
        return {key: bits(one) for key, one in result.items()}
    if isinstance(result, (tuple, list)):
        return [bits(one) for one in result]
    if isinstance(result, softamp.Quantized):
        return bits(vars(result))
    try:
        array = np.asarray(result)
        return array.shape, array.tobytes() if not array.dtype.hasobject else repr(result)
    except (TypeError, ValueError):
        return repr(result)


def kept_bytes(arguments, out):
    """Copies of what the call must leave as it is."""
    arrays = [a for a in arguments if isinstance(a, np.ndarray) and not a.dtype.hasobject]
    return [(a, a.tobytes()) for a in arrays if out is None or not np.may_share_memory(a, out)]


def carry_out_and_look(calls, name, arguments, options):
    """Whether it returned. Throws what is not allowed, AssertionError where a result is wrong."""
    out = options.get("out")
    before = kept_bytes([*arguments, options.get("random_words")], out if isinstance(out, np.ndarray) else None)
    again = None if name == "graph" else (calls.plain(arguments), calls.plain(options) if is_plain(calls, out) else None)
    try:
        result = carry_out(name, arguments, options)
    except ALLOWED as error:
        assert str(error), f"{type(error).__name__} without a message"
        assert "incompatible function arguments" not in str(error) and "std::" not in str(error), f"not in Python's words: {error}"
        return False
    finally:
        for array, bytes_before in before:
            assert array.tobytes() == bytes_before, "changed an input"
    if again and again[1] is not None:
        expected = carry_out(name, *again)
        assert bits(result) == bits(expected), f"{bits(result)} is not {bits(expected)}, as of arrays of NumPy's"
    return True


def is_plain(calls, out):
    """Whether a new array like an output can be made: of what is one of NumPy's, or has its values from one."""
    return out is None or isinstance(out, np.ndarray) or any(out is other for other, _ in calls.others)


def make_calls(count, seed):
    calls = Calls(seed)
    returned = collections.Counter()
    for number in range(count):
        name, arguments, options = calls.call()
        sys.stdout.write(f"\r{number} {name} ")
        sys.stdout.flush()
        try:
            with softamp.behaviour(inv=True, oflo=True) if calls.random.random() < 0.1 else warnings.catch_warnings():
                returned[name] += carry_out_and_look(calls, name, arguments, options)
        except BaseException as error:
            raise SystemExit(f"\n{name}{arguments}{options}: {type(error).__name__}: {error}") from error
    print(f"\r{count} calls, of which {sum(returned.values())} returned")
    if sum(returned.values()) < count // 4 or len(returned) < 19:
        raise SystemExit("hardly a call returned: this tests nothing")


class HeapOfLibc(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks",
                                                     "fordblks", "keepcost")]  # fmt: skip


def bytes_in_use():
    """Of this process's heap, exactly."""
    process = ctypes.CDLL(None)
    try:
        of_sanitizer = process.__sanitizer_get_current_allocated_bytes
    except AttributeError:
        of_libc = process.mallinfo2
        of_libc.restype = HeapOfLibc
        info = of_libc()
        return info.hblkhd + info.uordblks  # mapped, and in arenas
    of_sanitizer.restype = ctypes.c_size_t
    return of_sanitizer()


def refuse(count, seed):
    calls = Calls(seed)
    refused = []
    while len(refused) < 64:
        name, arguments, options = calls.call()
        try:
            carry_out(name, arguments, options)
        except ALLOWED:
            refused.append((name, arguments, options, calls.others))
    rounds = max(count // (2 * len(refused)), 10)

    def carry_out_all():
        for _ in range(rounds):
            for name, arguments, options, _ in refused:
                try:
                    carry_out(name, arguments, options)
                except ALLOWED:
                    continue
                raise SystemExit(f"{name}{arguments}{options}: refused once, and then not")
            gc.collect()  # exceptions and their frames name each other
        return np.array([bytes_in_use(), sys.getallocatedblocks()])

    before = carry_out_all()  # lists of Python's for use again, its caches: these are full then
    more = carry_out_all() - before
    print(f"{2 * rounds * len(refused)} refusals; the second half keeps {more[0]} bytes, and {more[1]} blocks of Python's")
    # One object, or the smallest piece of memory, that one of the 64 keeps is twice this or more. Of caches of Python's some
    # grow for long: a few hundred blocks, so that fewer rounds say nothing of one object.
    if more[0] >= 16 * rounds or more[1] >= max(rounds // 2, 390):
        raise SystemExit("refusals keep memory")


def call_forever(seed):
    """Threads that call; the process ends meanwhile."""
    def work(own_seed):
        calls = Calls(own_seed)
        while True:
            name, arguments, options = calls.call()
            try:
                carry_out(name, arguments, options)
            except ALLOWED:
                pass

    warnings.simplefilter("ignore")
    for thread in range(3):
        threading.Thread(target=work, args=(3 * seed + thread,), daemon=True).start()
    time.sleep(random.Random(seed).random() / 4)


def end_processes(count, seed):
    for number in range(count):
        command = [sys.executable, __file__, "threads", "1", str(seed * count + number)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        if (done.returncode, done.stderr) != (0, ""):
            raise SystemExit(f"{command}: exit code {done.returncode}: {done.stderr[-3000:]}")
    print(f"{count} processes ended")


def main():
    mode, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    warnings.simplefilter("ignore")
    {"calls": make_calls, "refusals": refuse, "exits": end_processes, "threads": lambda _, seed: call_forever(seed)}[mode](count, seed)


if __name__ == "__main__":
    main()
