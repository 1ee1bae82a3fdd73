"""Whether what a run left after a fault is right: each file old or new and whole, the message, the exit code."""

import errno
import os
import pathlib

# Texts of libraries, which say nothing to a user.
RAW = ["terminate called", "std::", "[json.exception", "iostream error", "basic_ios", "basic_filebuf",
       "filesystem error", "bad_alloc", "Assertion", "__pos", "what():"]
HARMLESS_WITHOUT_MESSAGE = {"EINTR", "SHORT"}


def names_in_message(verb, place, files):
    """Words of which one must be in the message about a fault at `place`: the user's names of it, and its options."""
    name = pathlib.PurePath(place).name
    if name == "stdout":
        return ["standard output"]
    if name == "stdin":
        return ["standard input"]
    if place.startswith(("pipe:", "socket:")):
        return ["gnuplot"]
    if place.startswith("("):
        return []
    near = [file for file in files if pathlib.PurePath(file).name in name] or list(files)
    words = [pathlib.PurePath(file).name for file in near]
    for option, value in zip(verb.arguments, verb.arguments[1:]):
        if option.startswith("-") and any(file == value or file.startswith(value + "/") for file in near):
            words.append(option)
    return words + [name]


def whole(verb, before, right, files):
    """Files that are neither as before nor as they should be."""
    faults = []
    for name in sorted(set(before) | set(right)):
        now, old, new = files.get(name), before.get(name), right.get(name)
        if now in (old, new):
            continue
        if now is None:
            faults.append(f"{name}: lost")
        elif name in verb.streams and new is not None and new.startswith(now):
            continue
        elif name in verb.pages and new is not None and now.splitlines()[-1:] == new.splitlines()[-1:]:
            continue
        elif name == verb.state:
            continue  # whoever goes on from it will see
        else:
            faults.append(f"{name}: {len(now)} bytes, neither the old ones ({'none' if old is None else len(old)}) "
                          f"nor the right ones ({'none' if new is None else len(new)})")
    return faults


def left_over(before, right, files, removed=()):
    return [f"{name}: left over" for name in sorted(files) if name not in before and name not in right
            and not any(place.endswith(pathlib.PurePath(name).name) for place in removed)]


def complete(right, result, printed=True):
    """What is not as in the run without a fault; printed: on standard output too."""
    kept = [pathlib.PurePath(place).name for _, kind, _, place in result.failed_calls() if kind == "remove"]
    faults = [] if result.code == 0 else [f"exit code {result.code}; expected 0: {result.err.strip()[-300:]}"]
    for name in sorted(set(right.files) | set(result.files)):
        if name not in right.files:
            if pathlib.PurePath(name).name not in kept:
                faults.append(f"{name}: left over")
        elif name not in result.files:
            faults.append(f"{name}: missing")
        elif right.files[name] != result.files[name]:
            faults.append(f"{name}: other bytes")
    if printed and result.out != right.out:
        faults.append("standard output: other text")
    return faults


def message(verb, fault, right, before, result):
    """What is wrong with what the user is told."""
    faults = [f"the message has '{raw}'" for raw in RAW if raw in result.err]
    if not result.err.strip():
        return faults + ["no message"]
    if f"softamp {verb.arguments[0]}: " not in result.err:
        faults.append(f"the message does not begin with 'softamp {verb.arguments[0]}: '")
    if verb.child:
        return faults
    if fault.what == "LIMIT":
        places, reason = [""], os.strerror(errno.EFBIG)
    else:
        places = [call[3] for call in result.failed_calls()]
        places, reason = places if fault.lasting else places[:1], os.strerror(getattr(errno, fault.what, 0))
    if fault.kind in ("thread", "map", "spawn") or any(place.startswith("/tmp/") for place in places):
        return faults
    files = list(dict.fromkeys(list(before) + list(right.files)))
    words = [names_in_message(verb, place, files) for place in places]
    if fault.what == "LIMIT":
        words.append(["standard output"])
    if words and all(words) and not any(word in result.err for of_place in words for word in of_place):
        names = ", ".join(pathlib.PurePath(place).name for place in places)
        faults.append(f"the message names neither the file nor the option ({names})")
    if reason not in result.err and fault.what not in HARMLESS_WITHOUT_MESSAGE:
        faults.append(f"the message does not say '{reason}'")
    return [f"{text}: {' | '.join(result.err.strip().splitlines())[-300:]}" for text in faults]


def training_lost(verb, before, files, failed, said):
    """A log that fails after steps have been done must not take them along: they are in the checkpoint. Where that
    cannot be written either, the message must say so."""
    if not verb.state or verb.state in before:
        return []
    if any(verb.state in pathlib.PurePath(place).name for _, _, _, place in failed) and " is not kept: " in said:
        return []
    logs = {pathlib.PurePath(place).name for _, kind, _, place in failed if kind in ("write", "sync")}
    return [f"{verb.state}: there is none, and {name} has steps" for name in logs & set(verb.streams)
            if files.get(name, b"").count(b"\n") > 1 and verb.state not in files]


def judge(verb, fault, before, right, result):
    """Everything that is wrong after a run in which the fault may have happened; before: the files of the template."""
    if result.code is None:
        return ["it hangs"]
    failed = result.failed_calls()
    killed = fault.what == "KILL" and not verb.child
    if killed and failed:
        faults = [] if result.code == -9 else [f"ended with {result.code}; expected to be killed"]
        return faults + whole(verb, before, right.files, result.files)
    if result.code < 0:
        return [f"ended by signal {-result.code}: {result.err.strip()[-300:]}"]
    if result.code == 0:
        faults = complete(right, result)
        # A file whose bytes may not have come to the disk is no whole file; a folder may not know how.
        for _, kind, _, place in failed:
            if kind == "sync" and fault.what != "EINTR" and pathlib.PurePath(place).suffix:
                faults.append(f"{pathlib.PurePath(place).name}: not synchronised, and nothing is said")
        return [f"exit code 0: {fault}" for fault in faults]
    faults = [] if result.code == 2 else [f"exit code {result.code}; expected 2"]
    if fault.what == "SHORT":
        faults.append(f"a short {fault.kind} is no failure: {result.err.strip()[-300:]}")
    if not failed and fault.what != "LIMIT" and not verb.child:
        faults.append(f"it fails without a fault: {result.err.strip()[-300:]}")
    removed = [call[3] for call in failed if call[1] == "remove"]
    return (faults + whole(verb, before, right.files, result.files) +
            training_lost(verb, before, result.files, failed, result.err) +
            left_over(before, right.files, result.files, removed) + message(verb, fault, right, before, result))
