"""behaviour is of the context: tasks of asyncio, threads and generators have their own."""

import asyncio
import contextvars
import threading

import numpy as np
import softamp

A = np.float16([60000])


def sum_now():
    return float(softamp.add(A, A)[0])


def test_tasks_do_not_exchange_theirs():
    async def task(nanoo, order):
        seen = []
        for _ in range(3):
            with softamp.behaviour(nanoo=nanoo):
                await asyncio.sleep(0.001 * order)
                seen.append(sum_now())
                await asyncio.sleep(0.002)
                seen.append(sum_now())
            await asyncio.sleep(0)
            seen.append(sum_now())
        return seen

    async def both():
        return await asyncio.gather(task(False, 1), task(True, 2))

    saturated, nans = asyncio.run(both())
    assert saturated == [65504.0, 65504.0, np.inf] * 3
    assert np.array_equal(nans, [np.nan, np.nan, np.inf] * 3, equal_nan=True)
    assert sum_now() == np.inf


def test_a_task_begins_with_its_makers():
    async def main():
        with softamp.behaviour():
            task = asyncio.create_task(asyncio.to_thread(sum_now))
        return await task, sum_now()

    assert asyncio.run(main()) == (65504.0, np.inf)


def test_threads_and_copies_of_contexts():
    seen = []
    with softamp.behaviour():
        context = contextvars.copy_context()
        thread = threading.Thread(target=lambda: seen.append(contextvars.Context().run(sum_now)))
        thread.start()
        thread.join()
    assert seen == [np.inf] and context.run(sum_now) == 65504.0 and sum_now() == np.inf


def test_blocks_that_do_not_end_in_their_order():
    def block(behaviour):
        with behaviour:
            yield

    first, second = block(softamp.behaviour()), block(softamp.behaviour(nanoo=True))
    next(first), next(second)
    next(first, None)
    assert np.isnan(sum_now())
    next(second, None)
    assert sum_now() == np.inf


def test_one_object_in_itself():
    b = softamp.behaviour()
    with b, b:
        pass
    assert sum_now() == np.inf
