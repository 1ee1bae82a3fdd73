# %% [markdown]
# # Which bits of randomness does a dot product need?
#
# A stochastic rounding compares what would be cut off with r random bits. Few bits are cheap in hardware, but coarse:
# what lies below the last of them is never rounded up. In the variant *carry*, which adds the bits and cuts, that makes
# each rounding too small by half of 2^-r units in the last place, in the mean. Over a long sum it adds up.

# %%
import numpy as np

import softamp

rng = np.random.default_rng(1)
K, SEEDS = 1024, 256
a = rng.uniform(0.5, 1.0, K).astype(np.float16).astype(np.float32)
b = rng.uniform(0.5, 1.0, K).astype(np.float16).astype(np.float32)
exact = float(np.dot(a.astype(np.float64), b.astype(np.float64)))


def errors(**rounding):
    """Of SEEDS dot products in bf16, which differ only in their random bits, relative to the exact one."""
    return np.asarray(softamp.dot(a, b, "bf16", replicas=SEEDS, seed=7, **rounding)) / exact - 1


to_nearest = softamp.dot(a, b, "bf16") / exact - 1
print(f"exact {exact:.3f}; to nearest the error is {to_nearest:+.1%}: most of the sum is swamped")
assert to_nearest < -0.2

# %% [markdown]
# The mean error tells the bias, the standard deviation the noise.

# %%
bits = list(range(1, 17))
table = {variant: [errors(rounding="stochastic", bits=r, variant=variant) for r in bits] for variant in ("carry", "half")}
print("bits   carry: mean      sd    half: mean      sd")
for i, r in enumerate(bits):
    print(f"{r:4}" + "".join(f"    {100 * table[v][i].mean():+8.3f} %  {100 * table[v][i].std(ddof=1):5.2f} %" for v in table))

# %% [markdown]
# One bit of *carry* is no better than rounding to nearest: what is less than half of the last place never moves the sum. Up to seven or
# eight bits its bias is above what 256 sums leave uncertain; then it is not told from exact stochastic rounding. *half* adds half a
# unit of the last random bit: three or four bits are enough for the mean here. The noise of one sum, 4 %, no number of bits takes away: it
# belongs to stochastic rounding in a format of 8 significant bits.

# %%
def standard_error(e):
    return e.std(ddof=1) / np.sqrt(len(e))


biased, enough = table["carry"][bits.index(4)], table["carry"][bits.index(13)]
assert biased.mean() < -10 * standard_error(biased)
assert abs(enough.mean()) < 4 * standard_error(enough)

# %%
import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
for variant, color in (("carry", "tab:blue"), ("half", "tab:orange")):
    mean = np.array([e.mean() for e in table[variant]])
    spread = np.array([e.std(ddof=1) for e in table[variant]])
    axes.plot(bits, 100 * mean, color=color, marker="o", markersize=3, label=f"{variant}: mean")
    axes.fill_between(bits, 100 * (mean - spread), 100 * (mean + spread), color=color, alpha=0.2)
axes.axhline(100 * to_nearest, color="tab:red", linewidth=0.8, label="to nearest")
axes.axhline(0, color="black", linewidth=0.8, linestyle="--")
axes.set(xlabel="random bits", ylabel="error of a dot product, %", title=f"{K} products in bf16")
axes.legend()
figure.savefig("random_bits.png", dpi=80)
