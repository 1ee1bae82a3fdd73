#!/usr/bin/env python3
"""The coefficients of include/softamp/numerics/math_*.h, made from nothing but decimal arithmetic.

Each polynomial is the minimax fit (Lawson's reweighted least squares on a fixed set of points) under the weight that turns its error into
the function's relative error, or into an absolute one where the header says so. Then, from the lowest power up, one
coefficient at a time is rounded to the format it is kept in and the others are fitted again. Prints the
coefficients, lowest power first, and the bound reached, as a power of two. Usage: math_coefficients.py [NAME ...]
"""
import math
import struct
import sys
from decimal import Decimal as D, getcontext

getcontext().prec = 130
PI = D("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798214808651")
LN2 = D(2).ln()


def series_sin(x):
    term, total, n = x, x, 1
    while abs(term) > D(10) ** -60:
        term = -term * x * x / ((n + 1) * (n + 2))
        n += 2
        total += term
    return total


def series_cos(x):
    term, total, n = D(1), D(1), 0
    while abs(term) > D(10) ** -60:
        term = -term * x * x / ((n + 1) * (n + 2))
        n += 2
        total += term
    return total


def erf(x):
    term, total, n = x, x, 0
    while term > total * D(10) ** -125:
        n += 1
        term = term * 2 * x * x / (2 * n + 1)
        total += term
    return 2 / PI.sqrt() * (-x * x).exp() * total


def points(a, b, count=130):
    a, b = D(a), D(b)
    return [(a + b) / 2 - (b - a) / 2 * D(math.cos(math.pi * (i + 0.5) / count)) for i in range(count)]


def solve(rows, right):
    n = len(rows)
    m = [list(r) + [v] for r, v in zip(rows, right)]
    for i in range(n):
        pivot = max(range(i, n), key=lambda r: abs(m[r][i]))
        m[i], m[pivot] = m[pivot], m[i]
        for r in range(n):
            if r != i:
                q = m[r][i] / m[i][i]
                m[r] = [x - q * y for x, y in zip(m[r], m[i])]
    return [m[i][n] / m[i][i] for i in range(n)]


def minimax(xs, fs, ws, powers, rounds):
    """Near-minimax weighted coefficients of the given powers on the points xs, by Lawson's reweighted least squares."""
    basis = [[w * x**p for p in powers] for x, w in zip(xs, ws)]
    goal = [w * f for w, f in zip(ws, fs)]
    k, share = len(powers), [D(1) / len(xs)] * len(xs)
    best = None
    for _ in range(rounds):
        scaled = [[q * b for b in row] for q, row in zip(share, basis)]
        rows = [[sum(s[i] * b[j] for s, b in zip(scaled, basis)) for j in range(k)] for i in range(k)]
        c = solve(rows, [sum(s[i] * g for s, g in zip(scaled, goal)) for i in range(k)])
        errors = [abs(g - sum(a * b for a, b in zip(c, row))) for g, row in zip(goal, basis)]
        if best is None or max(errors) < best[1]:
            best = c, max(errors)
        total = sum(q * e for q, e in zip(share, errors))
        share = [q * e / total for q, e in zip(share, errors)]
    return best[0]


def rounded(x, double):
    return D(float(x)) if double else D(struct.unpack("f", struct.pack("f", float(x)))[0])


def fit(name, note, xs, fs, ws, powers, double=False):
    getcontext().prec = 50
    pairs = sorted(zip(xs, fs, ws))
    xs, fs, ws = [+p[0] for p in pairs], [+p[1] for p in pairs], [+p[2] for p in pairs]
    left, fixed = list(powers), []
    while left:
        c = minimax(xs, fs, ws, left, 25 if len(left) == len(powers) else 12)
        fixed.append(rounded(c[0], double))
        fs = [f - fixed[-1] * x ** left[0] for x, f in zip(xs, fs)]
        left.pop(0)
    worst = max(abs(w * f) for w, f in zip(ws, fs))
    print(f"{name}: {note}; 2^{math.log2(worst):.2f}")
    print("   ", ", ".join(float(c).hex() + ("" if double else "f") for c in fixed))
    getcontext().prec = 130


def exp_r():
    xs = points(-LN2 / 2 * D("1.001"), LN2 / 2 * D("1.001"))
    fs = [(x.exp() - 1 - x) / x**2 for x in xs]
    fit("exp", "(e^r - 1 - r) / r^2, |r| <= ln2/2, relative to e^r", xs, fs, [x**2 / x.exp() for x in xs], range(5))
    fit("expm1", "the same, relative to e^r - 1", xs, fs, [abs(x**2 / (x.exp() - 1)) for x in xs], range(6))


def log_f():
    xs = points(D("0.5").sqrt() - 1, D(2).sqrt() - 1)
    fit("log", "(ln(1+f) - f + f^2/2) / f^3, 1+f in [sqrt 1/2, sqrt 2], relative to ln(1+f)", xs,
        [((1 + x).ln() - x + x * x / 2) / x**3 for x in xs], [abs(x**3 / (1 + x).ln()) for x in xs], range(9))


def tanh(x):
    e = (2 * x).exp()
    return (e - 1) / (e + 1)


def tanh_x():
    xs = points(D("0.001"), D("0.625"))
    fit("tanh", "(tanh x - x) / x^3 in x^2, |x| <= 0.625, relative", [x * x for x in xs],
        [(tanh(x) - x) / x**3 for x in xs], [x**3 / tanh(x) for x in xs], range(5))


def erf_small():
    xs = points(D("0.001"), D("0.925"))
    fit("erf_small", "erf(x)/x - 1 in x^2, |x| <= 0.925, relative", [x * x for x in xs], [erf(x) / x - 1 for x in xs],
        [x / erf(x) for x in xs], range(7))


def erf_large():
    xs = points(D("0.92"), D("3.95"))
    fit("erf_large", "ln(erfc x), 0.92 <= x <= 3.95, absolute in erf", xs, [(1 - erf(x)).ln() for x in xs],
        [1 - erf(x) for x in xs], range(7))


def cdf_near(n=6):
    xs = points(D("0.001"), D("1.01"))
    fit("cdf_near", "(Phi(a) - 1/2) / a in a^2, a <= 1, relative to Phi(-a)", [x * x for x in xs],
        [erf(x / D(2).sqrt()) / 2 / x for x in xs], [2 * x / (1 - erf(x / D(2).sqrt())) for x in xs], range(n))


def tail(n=10, k=5):
    xs = [x * x for x in points(D("0.99"), D("14.6").sqrt())]
    qs = [(x - k) / (x + k) for x in xs]
    fs = [(1 - erf(x / D(2).sqrt())) / 2 * (x * x / 2).exp() * (x + k) for x in xs]
    fit("tail", f"Phi(-a) e^(a^2/2) (a + {k}) in (a - {k})/(a + {k}), 1 <= a <= 14.6, relative", qs, fs,
        [1 / f for f in fs], range(n))


def sin_r():
    xs = points(D("0.001"), PI / 4 * D("1.001"))
    fit("sin", "(sin r - r) / r^3 in r^2, |r| <= pi/4, relative", [x * x for x in xs],
        [(series_sin(x) - x) / x**3 for x in xs], [x**3 / series_sin(x) for x in xs], range(4))


def cos_r():
    xs = points(D("0.001"), PI / 4 * D("1.001"))
    fit("cos", "(cos r - 1 + r^2/2) / r^4 in r^2, |r| <= pi/4, absolute", [x * x for x in xs],
        [(series_cos(x) - 1 + x * x / 2) / x**4 for x in xs], [x**4 for x in xs], range(4))


def normal_data(zs):
    out = []
    for z in zs:
        p = (1 - erf(z / D(2).sqrt())) / 2
        out.append((-(4 * p * (1 - p)).ln(), z / (1 - 2 * p)))
    return out


def places_of(key, a, b):
    """z such that key(w(z)) runs from a to b as the points of a fit should."""
    zs, out = [D(i) / 1000 for i in range(1, 6500)], []
    ws = [key(w) for w, _ in normal_data(zs[::10])]
    for y in points(a, b):
        i = next((i for i, w in enumerate(ws) if w >= y), len(ws) - 1)
        low, high = (ws[i - 1], ws[i]) if i else (D(0), ws[0])
        z0, z1 = (zs[10 * (i - 1)], zs[10 * i]) if i else (D(0), zs[0])
        out.append(max(D("0.002"), z0 + (z1 - z0) * (y - low) / (high - low)))
    return sorted(set(out))


def normal_centre():
    data = normal_data(places_of(lambda w: w, D("0.0001"), D("5.01")))
    fit("normal_centre", "z/x in w - 2.5, w = -ln(1 - x^2) <= 5, relative", [w - D("2.5") for w, _ in data],
        [f for _, f in data], [1 / f for _, f in data], range(9))


def normal_tail():
    data = normal_data(places_of(lambda w: w.sqrt(), D(5).sqrt() * D("0.999"), D("22").sqrt()))
    fit("normal_tail", "z/x in sqrt(w) - 3.4, 5 <= w <= 22, relative", [w.sqrt() - D("3.4") for w, _ in data],
        [f for _, f in data], [1 / f for _, f in data], range(9))


def log2_s():
    ms = points(D("0.5").sqrt(), D(2).sqrt())
    ss = [(m - 1) / (m + 1) for m in ms]
    fit("pow_log2", "log2(m)/s in s^2, s = (m-1)/(m+1), m in [sqrt 1/2, sqrt 2], relative",
        [s * s for s in ss if s > 0], [m.ln() / LN2 / s for m, s in zip(ms, ss) if s > 0],
        [s / (m.ln() / LN2) for m, s in zip(ms, ss) if s > 0], range(5), True)


def exp2_r():
    xs = points(D("-0.5"), D("0.5"))
    fit("pow_exp2", "(2^r - 1)/r, |r| <= 1/2, relative to 2^r", xs, [((x * LN2).exp() - 1) / x for x in xs],
        [abs(x) / (x * LN2).exp() for x in xs], range(7), True)


ALL = [exp_r, log_f, tanh_x, erf_small, erf_large, cdf_near, tail, sin_r, cos_r, normal_centre, normal_tail, log2_s, exp2_r]
if __name__ == "__main__":
    for made in ALL:
        if len(sys.argv) == 1 or made.__name__ in sys.argv[1:]:
            made()
