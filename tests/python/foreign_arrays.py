"""Arrays as others export them, by the buffer protocol and by DLPack: rightly, and in ways that are wrong."""

import array
import ctypes
import sys

import numpy as np

KINDS = {"i": 0, "u": 1, "f": 2, "?": 6, "b": 6, "c": 5}  # DLPack's code of a kind of NumPy's


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64),
        ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
    ]  # fmt: skip


class Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64),
    ]  # fmt: skip


def integers(values):
    return None if values is None else (ctypes.c_int64 * len(values))(*values)


class Foreign:
    """An array of another library: what its DLPack says of it is given. data: anything of ctypes, or an address."""

    def __init__(self, data, code=2, bits=32, lanes=1, shape=(4,), strides=None, offset=0, device=1, version=None, flags=0):
        self.data, self.shape, self.strides, self.version = data, integers(shape), integers(strides), version
        address = data if data is None or isinstance(data, int) else ctypes.addressof(data)
        rank = 1 if shape is None else len(shape)
        of_both = dict(data=address, device_type=device, ndim=rank, code=code, bits=bits, lanes=lanes, offset=offset)
        self.tensor = DLTensor(**of_both) if version is None else Versioned(major=version, flags=flags, **of_both)
        self.tensor.shape, self.tensor.strides = self.shape, self.strides

    def __dlpack__(self, max_version=None, **_):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.tensor), b"dltensor" if self.version is None else b"dltensor_versioned", None)

    def __dlpack_device__(self):
        return self.tensor.device_type, 0


def by_dlpack(x, **more):
    """An array of NumPy's by DLPack, with its strides."""
    strides = [s // x.itemsize for s in x.strides]
    made = Foreign(x.ctypes.data, KINDS[x.dtype.kind], 8 * x.itemsize, shape=x.shape, strides=strides, **more)
    made.owner = x
    return made


class Exporter:
    """A class of Python's with the buffer protocol, from Python 3.12 on."""

    def __init__(self, x):
        self.x = x

    def __buffer__(self, flags):
        return memoryview(self.x)


def with_gaps(x):
    """As a field of a structured array: at odd addresses, with other bytes between."""
    rows = np.zeros(x.shape, [("before", "u1"), ("x", x.dtype)])
    rows["x"] = x
    return rows["x"]


def other_views(x):
    """Functions that give the values of x by other strides."""
    views = [lambda: x.T.copy().T, lambda: with_gaps(x), lambda: x.copy().view()]
    if x.ndim:
        views += [lambda: x[::-1].copy()[::-1], lambda: np.repeat(x, 3, axis=0)[::3]]
    return views


def exported(random, x):
    """The values of an array by another exporter, which may be read-only; x itself where there is none for its elements."""
    dense = np.ascontiguousarray(x).reshape(x.shape).copy()
    kinds = [lambda: memoryview(dense), lambda: np.frombuffer(dense.tobytes(), x.dtype).reshape(x.shape)]
    kinds += other_views(x)
    if x.dtype.kind in KINDS:
        kinds += [lambda: by_dlpack(dense), lambda: by_dlpack(dense, version=1), lambda: by_dlpack(dense, version=1, flags=1)]
        kinds += [lambda: by_dlpack(random.choice(other_views(x))())] if x.itemsize == 1 or x.dtype.kind != "f" else []
        kinds += [lambda: np.ctypeslib.as_ctypes(dense)] if x.dtype.char in "fdbBhHiIlLqQ" and x.size else []
        kinds += [lambda: memoryview(dense.tobytes()).cast(x.dtype.char, x.shape)] if x.size and x.dtype.char in "fdbBhHiIlLqQ" else []
        kinds += [lambda: array.array(x.dtype.char, dense.tobytes())] if x.ndim == 1 and x.dtype.char in "fdbBhHiIlLqQ" else []
        kinds += [lambda: Exporter(dense)] if sys.version_info >= (3, 12) else []
    try:
        return random.choice(kinds)()
    except (TypeError, ValueError, BufferError, NotImplementedError):
        return x


class Raises:
    def __init__(self, error):
        self.error = error

    def __dlpack__(self, **_):
        raise self.error


class Gives:
    def __init__(self, given):
        self.given = given

    def __dlpack__(self, **_):
        return self.given

    def __index__(self):
        return self.given

    def __repr__(self):
        return "Gives"


class Pair(ctypes.Structure):
    _fields_ = [("a", ctypes.c_float), ("b", ctypes.c_int)]


def closed_view():
    view = memoryview(bytearray(16))
    view.release()
    return view


def wrong(random):
    """An object that says it is an array, and is none that can be taken."""
    floats = (ctypes.c_float * 4)(1, 2, 3, 0.1)
    huge = [-1, 0, 1, 2, 3, 2**31, 2**40, 2**62, -(2**62), 2**63 - 1]
    bits = [0, 1, 2, 3, 4, 6, 7, 12, 24, 80, 128, 255]
    return random.choice([
        lambda: Foreign(floats, random.randrange(256), random.choice(bits)),
        lambda: Foreign(floats, random.randrange(256), 32, lanes=random.choice([0, 2, 4, 65535])),
        lambda: Foreign(floats, shape=(random.choice(huge[5:]), random.choice(huge[5:]))),
        lambda: Foreign(floats, shape=(-random.randint(1, 2**62),)),
        lambda: Foreign(floats, shape=(1,) * random.choice([65, 100, 1000])),
        lambda: Foreign(None, shape=(random.randint(1, 4),)),
        lambda: Foreign(floats, shape=None),
        lambda: Foreign(floats, device=random.choice([0, 2, 3, 4, 8, 10, 255, -1])),
        lambda: Foreign(floats, version=random.choice([0, 2, 2**32 - 1])),
        lambda: Raises(random.choice([RuntimeError, ValueError, MemoryError, BufferError, KeyError, TypeError])("no")),
        lambda: Gives(random.choice([None, 1, "dltensor", b"", object()])),
        closed_view,
        lambda: Pair(1, 2),
        lambda: (Pair * 3)(),
        lambda: ctypes.pointer(ctypes.c_float(1)),
        lambda: (ctypes.c_char * 5)(),
        lambda: ctypes.c_longdouble(1),
        lambda: np.zeros(3, "f4,i4"),
        lambda: np.zeros(3, "f4,i4")[0],
        lambda: np.zeros((2, 2), [("x", ">f4")])["x"],
        lambda: np.datetime64("now"),
        lambda: np.zeros(3, "S4"),
        lambda: np.zeros(3, "V7"),
        lambda: np.zeros(3, "c16"),
        lambda: np.zeros(3, "O"),
        lambda: memoryview(np.zeros(3, "f4,i4")),
        lambda: memoryview(b"12345678").cast("q"),
        lambda: array.array("u", "abc"),
        lambda: np.ma.masked_array([1.0, 2.0], [True, False]),
        lambda: np.matrix([[1.0, 2.0]], "c8"),
    ])()  # fmt: skip
