# %% [markdown]
# # Swamping in five minutes
#
# Add 0.0001 ten thousand times, in fp16, each addition rounded once. The sum should be 1. It stops at 0.25: from there on
# half of the distance to the next fp16 number is more than 0.0001, and rounding to nearest gives the old sum back. The
# small number is *swamped*. Stochastic rounding moves the sum now and then, in the mean by the right amount.

# %%
import numpy as np

import softamp

VALUE, COUNT = 0.0001, 10_000
nearest = softamp.running_sum(VALUE, COUNT, trace_points=200, report=True)
print(f"to nearest: {nearest['values'][0]}; the last addition that changed it was number {nearest['last_change'][0]}")
assert nearest["values"][0] == 0.25

# %% [markdown]
# Why 0.25? fp16 has 11 significant bits: between 0.25 and 0.5 its numbers are 2^-12 apart, and half of that is
# 0.000122, more than what is added. `inspect` shows the number, and what each rounding would make of it.

# %%
gap = float(np.spacing(np.float16(0.25)))
print(f"fp16 numbers from 0.25 on are {gap} apart; half of it is {gap / 2:.6f}")
assert VALUE < gap / 2
moved = softamp.inspect(repr(0.25 + VALUE), "fp16")["roundings"]
print({name: moved[name]["value"] for name in ("nearest", "up", "down")})

# %% [markdown]
# Stochastic rounding, 100 sums that differ only in their random bits. Element i of the result reads the bits of
# (seed, addition, i): run this again, anywhere, and the same 100 numbers come out.

# %%
stochastic = softamp.running_sum(VALUE, COUNT, rounding="stochastic", replicas=100, seed=0, trace_points=200, report=True)
sums = np.asarray(stochastic["values"])
print(f"stochastic: mean {sums.mean():.4f}, standard deviation {sums.std(ddof=1):.4f}")
standard_error = sums.std(ddof=1) / 10
assert abs(sums.mean() - stochastic["exact"]) < 4 * standard_error

# %% [markdown]
# The same in other formats: the fewer significant bits, the earlier the sum stops. tf32 has as many as fp16.

# %%
stops = {name: softamp.running_sum(VALUE, COUNT, name) for name in ("fp32", "tf32", "fp16", "bf16", "e5m2")}
for name, value in stops.items():
    print(f"{name:>5} {value:.6f}")
assert stops["fp32"] > 0.99 and stops["bf16"] < stops["fp16"]

# %%
import matplotlib.pyplot as plt

figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
n = np.asarray(stochastic["trace_additions"])
for i, trace in enumerate(np.asarray(stochastic["traces"])[:20]):
    axes.plot(n, trace, color="tab:blue", alpha=0.35, linewidth=0.8, label="stochastic, 20 of 100" if i == 0 else None)
axes.plot(np.asarray(nearest["trace_additions"]), np.asarray(nearest["traces"])[0], color="tab:red", label="to nearest")
axes.plot(n, n * VALUE, color="black", linewidth=0.8, linestyle="--", label="exact")
axes.set(xlabel="additions of 0.0001", ylabel="sum in fp16")
axes.legend()
figure.savefig("swamping.png", dpi=80)
