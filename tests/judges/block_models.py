"""Models of the block formats, from their definitions, in NumPy: float32 where a system computes in float32, and
float64, which holds all quotients by powers of two exactly. They share no idea with the C++: codes come from tables of
values, scales from fields of float32. N445 to N459 of docs/NUMERICS_BLOCKS.md say what is modelled."""
import numpy as np

F = np.float32
NAN32 = np.uint32(0x7FC00000)


class Element:
    """exponent_bits, mantissa_bits and bias of a small float; `top`: the largest magnitude's code."""

    def __init__(self, name, exponent_bits, mantissa_bits, bias, top, nan):
        self.name, self.mantissa_bits, self.top, self.nan = name, mantissa_bits, top, nan
        codes = np.arange(top + 1)
        field, fraction = codes >> mantissa_bits, codes & ((1 << mantissa_bits) - 1)
        scale = 2.0 ** -mantissa_bits
        self.values = np.where(field == 0, fraction * scale * 2.0 ** (1 - bias),
                               (1 + fraction * scale) * 2.0 ** (field.astype(float) - bias))
        self.max = float(self.values[top])
        self.emax = int(np.floor(np.log2(self.max)))
        self.least_quantum = 2.0 ** (1 - bias - mantissa_bits)
        self.sign = 1 << (exponent_bits + mantissa_bits)
        self.integer = False


class Int8:
    name, mantissa_bits, top, nan, sign, integer = "int8", 6, 127, 127, 0, True
    max, emax, least_quantum = 127 / 64, 0, 1 / 64


ELEMENTS = {"mxfp8_e4m3": Element("e4m3", 4, 3, 7, 0x7E, 0x7F), "mxfp8_e5m2": Element("e5m2", 5, 2, 15, 0x7B, 0x7E),
            "mxfp6_e3m2": Element("e3m2", 3, 2, 3, 0x1F, 0x1F), "mxfp6_e2m3": Element("e2m3", 2, 3, 1, 0x1F, 0x1F),
            "mxfp4": Element("e2m1", 2, 1, 1, 7, 7), "mxint8": Int8()}
E4M3, E5M2, E2M1 = ELEMENTS["mxfp8_e4m3"], ELEMENTS["mxfp8_e5m2"], ELEMENTS["mxfp4"]


def code_of(x):
    return np.asarray(x, F).view(np.uint32)


def single(codes):
    return np.asarray(codes, np.uint32).view(F)


def philox_bits(seed, step, index, r):
    """The r bits of each index: a half word of eight for up to 16, a word of four beyond (N70, N71)."""
    lanes = 8 if r <= 16 else 4
    block = index // lanes
    word = [block & 0xFFFFFFFF, block >> np.uint64(32), np.zeros_like(block), np.full_like(block, step)]
    key = [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        p0, p1 = word[0] * np.uint64(0xD2511F53), word[2] * np.uint64(0xCD9E8D57)
        word = [(p1 >> np.uint64(32)) ^ word[1] ^ np.uint64(key[0]), p1 & np.uint64(0xFFFFFFFF),
                (p0 >> np.uint64(32)) ^ word[3] ^ np.uint64(key[1]), p0 & np.uint64(0xFFFFFFFF)]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    all_words = np.stack(word)
    lane = (index % lanes).astype(np.int64)
    at = np.arange(index.size)
    if r > 16:
        return all_words[lane, at] & np.uint64((1 << r) - 1)
    return (all_words[lane >> 1, at] >> ((lane & 1) * 16).astype(np.uint64)) & np.uint64((1 << r) - 1)


def elements(e, y, rounding="nearest", random=None, r=13, keep_zero_sign=True):
    """Codes of exact quotients y (float64), saturating; NaN becomes the element's NaN."""
    nan, magnitude = np.isnan(y), np.abs(np.where(np.isnan(y), 0, y))
    finite = np.where(np.isinf(magnitude), 0, magnitude)
    exponent = np.frexp(np.where(finite == 0, 1, finite))[1] - 1.0
    if e.integer:
        quantum = np.full(finite.shape, e.least_quantum)
    else:
        quantum = np.maximum(2.0 ** (exponent - e.mantissa_bits), e.least_quantum)
    units = finite / quantum
    floor = np.floor(units)
    if rounding == "nearest":
        whole = np.rint(units)
    elif rounding == "nearest-away":
        whole = np.floor(units) + (units - np.floor(units) >= 0.5)
    elif rounding == "zero":
        whole = floor
    elif rounding == "up":
        whole = np.where(np.signbit(y), floor, np.ceil(units))
    elif rounding == "down":
        whole = np.where(np.signbit(y), np.ceil(units), floor)
    else:
        whole = floor + (np.floor((units - floor) * 2.0**r) + random >= 2.0**r)
    value = np.where(np.isinf(y), np.inf, whole * quantum)
    negative = np.signbit(y) & ~nan
    if e.integer:
        whole = np.minimum(value * 64, e.top).astype(np.int64)
        codes = np.where(negative, -whole, whole) & 0xFF
    else:
        codes = np.minimum(np.searchsorted(e.values, value, side="left"), e.top)
        zero = codes == 0
        codes = codes | np.where(negative & (keep_zero_sign | ~zero), e.sign, 0)
    return np.where(nan, e.nan, codes).astype(np.uint8)


def element_values(e, codes):
    """float64, NaN where the code is one."""
    if e.integer:
        return codes.astype(np.int8) / 64.0
    magnitude = (codes & (e.sign - 1)).astype(np.int64)
    v = np.where(magnitude > e.top, np.nan, e.values[np.minimum(magnitude, e.top)])
    return np.where(codes & e.sign, -v, v)


def e8m0_value(byte):
    return np.where(byte == 255, np.nan, 2.0 ** (byte.astype(np.float64) - 127))


def e8m0_up(d, saturating):
    """float32 to the power of two above."""
    u = code_of(d)
    field, fraction = (u >> 23).astype(np.int64), u & 0x7FFFFF
    byte = np.where(field == 0, fraction > 0x400000, field + (fraction != 0))
    byte = np.where(np.isinf(d), 255, np.minimum(byte, 255))
    if saturating:
        byte = np.minimum(byte, 254)
    return np.where(np.isnan(d), 255, byte)


def mx_scales(e, amax, rule, saturating=False):
    """Bytes, from the greatest magnitude of each block (float32, NaN where there is one)."""
    u = code_of(amax).astype(np.int64)
    field = u >> 23
    if rule == "floor":
        byte = field - e.emax
    elif rule == "ceil":
        byte = field + ((u & 0x7FFFFF) != 0) - e.emax
    elif rule == "even":
        field = (u + (1 << (22 - e.mantissa_bits))) >> 23
        byte = np.where(field >= 255, 255, field - e.emax)
    elif rule == "rceil":
        byte = e8m0_up((amax * (F(1) / F(e.max))).astype(F), saturating)
    elif rule == "microxcaling":
        with np.errstate(divide="ignore"):
            log2 = np.log2(amax.astype(np.float64)).astype(F)
        byte = np.where(np.isfinite(log2), np.floor(np.where(np.isfinite(log2), log2, 0)) + 127 - e.emax, 0)
    byte = np.clip(byte, 0, 255)
    byte = np.where(amax == 0, 0, byte)
    lost = np.isnan(amax) | (np.isinf(amax) & ~np.bool_(saturating and rule == "rceil"))
    return np.where(lost, 255, byte).astype(np.uint8)


def mx(e, x, rule, rounding="nearest", saturating=False, random=None, r=13, three_quarters=False):
    """x [blocks, n] float32: scales, codes, values."""
    amax = np.abs(x).max(axis=1)
    byte = mx_scales(e, amax, rule, saturating)
    y = x.astype(np.float64) * 2.0 ** (127.0 - byte[:, None].astype(np.float64)) * (0.75 if three_quarters else 1)
    y = np.where(byte[:, None] == 255, np.nan, y)
    micro = rule == "microxcaling"
    codes = elements(e, y, rounding, random, r, keep_zero_sign=not micro)
    v = element_values(e, codes) * e8m0_value(byte)[:, None]
    return byte, codes, v.astype(F)


def e4m3_scale(d):
    """float32, not below 0, to e4m3, nearest even, already at most 448."""
    return elements(E4M3, d.astype(np.float64))


def four_over_six(x, errors, bound):
    """x [rows, n] float32 in blocks of 16, nowhere all zero, of TransformerEngine: scales, codes, values, amax."""
    amax, blocks = F(np.abs(x).max()), x.reshape(-1, 16)
    product = F(6 * bound)
    encode = np.minimum(product / amax, np.finfo(F).max)
    base = np.abs(blocks).max(axis=1) / F(6) * encode
    made = []
    for expand in (F(1), F(1.5)):
        scale = e4m3_scale(np.minimum(base * expand, F(448)))
        value = element_values(E4M3, scale).astype(F)
        factor = np.minimum(F(1) / (value * (F(1) / encode)), np.finfo(F).max)
        codes = elements(E2M1, (blocks * factor[:, None]).astype(np.float64))
        q = element_values(E2M1, codes).astype(F)
        difference = q * value[:, None] * amax / product - blocks
        each = difference * difference if errors == "mse" else np.abs(difference)
        error = np.zeros(len(blocks), F)
        with np.errstate(over="ignore"):
            for i in range(16):
                error += each[:, i]
        made.append((error, scale, codes, q * (value * amax * (F(1) / product))[:, None]))
    four = made[1][0] < made[0][0]
    scales, codes, values = (np.where(four.reshape(-1, *[1] * (a.ndim - 1)), b, a)
                             for a, b in zip(made[0][1:], made[1][1:]))
    return scales.reshape(len(x), -1), codes.reshape(x.shape), values.reshape(x.shape)


def nvfp4(x, rule, rows=1, tensor_amax=None):
    """x [rows, n] float32, n a multiple of 16: scales, codes, values, amax of the tensor."""
    height, width = x.shape
    amax = F(np.abs(x).max()) if tensor_amax is None else F(tensor_amax)
    tiles = np.abs(x).reshape(height // rows, rows, width // 16, 16).max(axis=(1, 3)).astype(F)
    six, both = F(6), F(2688)
    with np.errstate(all="ignore"):
        if rule == "transformer_engine":
            encode = np.minimum(both / amax, np.finfo(F).max) if amax != 0 else F(1)
            encode = F(1) if encode == 0 else encode
            decode = F(1) / encode
            d = tiles * F(encode * single(0x3E2AAAAB))
            scales = e4m3_scale(np.minimum(d, F(448)))
            factor = np.minimum(F(1) / (element_values(E4M3, scales).astype(F) * decode), np.finfo(F).max)
        else:
            p = F(1) if rule == "one_level" or amax == 0 else amax / both
            encode, decode = F(1) / p, p
            d = (tiles / six) / p if rule == "torchao" else tiles / six
            scales = e4m3_scale(np.clip(d, F(2.0**-6), F(448)))
            factor = encode / element_values(E4M3, scales).astype(F)
        factor = factor.astype(F)
        wide = np.repeat(np.repeat(factor, rows, 0), 16, 1)
        codes = elements(E2M1, (x * wide).astype(F).astype(np.float64))
        value = element_values(E4M3, scales).astype(F)
        if rule == "transformer_engine":
            back = (value * amax).astype(F) * (F(1) / both)
        else:
            back = value * decode
        v = element_values(E2M1, codes).astype(F) * np.repeat(np.repeat(back.astype(F), rows, 0), 16, 1)
    return scales, codes, v.astype(F), amax


def fp8(e, x, rule, powers_of_two=False):
    """x [blocks, n] float32, finite: decode scales, codes, values."""
    amax, most = np.abs(x).max(axis=1).astype(F), F(e.max)
    with np.errstate(all="ignore"):
        if rule == "transformer_engine":
            factor = (most / amax).astype(F)
            factor = np.where(np.isinf(factor), np.finfo(F).max, factor)
            if powers_of_two:
                factor = single(code_of(factor) & np.uint32(0x7F800000))
            factor = np.where(amax == 0, F(1), factor)
            decode = (F(1) / factor).astype(F)
            y = x * factor[:, None]
        else:
            decode = (np.maximum(amax, F(1e-4)) / most).astype(F)
            if powers_of_two:
                decode = (2.0 ** (np.clip(e8m0_up(decode, True), 1, 254) - 127.0)).astype(F)
            y = x / decode[:, None] if rule == "deepseek" else x * (F(1) / decode)[:, None]
        codes = elements(e, y.astype(F).astype(np.float64))
        v = element_values(e, codes).astype(F) * decode[:, None]
    return decode, codes, v.astype(F)
