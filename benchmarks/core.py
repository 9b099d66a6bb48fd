"""The cost of the concurrency core, compared to a bare trio channel and to pykka.

Prints one JSON line for each figure: ``{"name": …, "value": …, "unit": …}``. All contenders do the
same work in the same run, because absolute figures depend on the machine, and ratios much less.
Each time is that of the best of several rounds; the others measure noise.

    python benchmarks/core.py [--quick]
"""

from __future__ import annotations

import argparse
import gc
import json
import time
import tracemalloc
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import pykka
import trio
import trio.testing
from greenroom import (
    Actor,
    ActorRef,
    ActorSpec,
    Directory,
    DirectorySpec,
    Envelope,
    Message,
    Supervisor,
)

MICRO = 1e6


@dataclass(frozen=True, slots=True)
class Add(Message[int]):
    """The work of every contender: add, and reply with the total."""

    amount: int


@dataclass(frozen=True, slots=True)
class Note(Message[None]):
    """The same without a reply."""

    amount: int


class Adder(Actor[Add | Note]):
    def __init__(self, key: object = None) -> None:
        self.total = 0

    async def handle(self, message: Add | Note) -> int | None:
        self.total += message.amount
        return self.total if isinstance(message, Add) else None


class BatchAdder(Actor[Add | Note]):
    def __init__(self) -> None:
        self.total = 0

    async def handle_batch(self, batch: Sequence[Envelope[Add | Note]]) -> None:
        for envelope in batch:
            message = envelope.message
            self.total += message.amount
            match message:
                case Add():
                    envelope.reply(message.reply(self.total))
                case Note():
                    envelope.reply(message.reply(None))


class PykkaAdder(pykka.ThreadingActor):
    def __init__(self) -> None:
        super().__init__()
        self.total = 0

    def on_receive(self, message: int) -> int:
        self.total += message
        return self.total


class ChannelAdder:
    """The same with channels: one for requests, and one for the replies to each asker."""

    def __init__(self) -> None:
        self.send, self.receive = trio.open_memory_channel[
            tuple[int, "trio.MemorySendChannel[int] | None"]
        ](1024)
        self.total = 0

    async def run(self) -> None:
        async for amount, reply in self.receive:
            self.total += amount
            if reply is not None:
                await reply.send(self.total)

    async def ask_many(self, count: int) -> None:
        answer, answers = trio.open_memory_channel[int](0)
        for _ in range(count):
            await self.send.send((1, answer))
            await answers.receive()


def report(name: str, value: float, unit: str) -> None:
    figure = {"name": name, "value": round(value, 3), "unit": unit}
    print(json.dumps(figure, ensure_ascii=False), flush=True)


async def best(rounds: int, count: int, run: Callable[[], Awaitable[object]]) -> float:
    """Return the seconds for one of ``count`` operations, in the best of ``rounds``."""
    times = []
    for _ in range(rounds):
        gc.collect()
        begun = time.perf_counter()
        await run()
        times.append((time.perf_counter() - begun) / count)
    return min(times)


async def together(tasks: Sequence[Callable[[], Awaitable[object]]]) -> None:
    async with trio.open_nursery() as nursery:
        for task in tasks:
            nursery.start_soon(task)


async def ask_many(ref: ActorRef[Add | Note] | ActorRef[Add | Note], count: int) -> None:
    message = Add(1)
    for _ in range(count):
        await ref.ask(message)


async def tell_many(ref: ActorRef[Add | Note], count: int) -> None:
    message = Note(1)
    for _ in range(count):
        await ref.tell(message)
    await ref.ask(Add(0))


class Scale:
    """The amount of work."""

    def __init__(self, *, quick: bool) -> None:
        self.rounds = 3 if quick else 7
        self.calls = 6_400 if quick else 40_000
        self.pykka_calls = 3_200 if quick else 20_000
        self.keys = 10_000 if quick else 100_000
        self.idle = 2_000 if quick else 10_000


async def bench_octavo(scale: Scale) -> None:
    root = Supervisor("bench")
    ref = root.add(ActorSpec("adder", Adder))
    batch = root.add(ActorSpec("batch", BatchAdder))
    many = [root.add(ActorSpec(f"adder{index}", Adder)) for index in range(64)]
    count, each = scale.calls, scale.calls // 64
    async with root.running():
        rounds = partial(best, scale.rounds)
        value = await rounds(count, partial(ask_many, ref, count))
        report("ask_uncontended", value * MICRO, "µs")
        value = await rounds(each * 64, partial(together, [partial(ask_many, ref, each)] * 64))
        report("ask_64_on_1", value * MICRO, "µs")
        value = await rounds(each * 64, partial(together, [partial(ask_many, batch, each)] * 64))
        report("ask_64_on_1_batch", value * MICRO, "µs")
        tasks = [partial(ask_many, other, each) for other in many]
        value = await rounds(each * 64, partial(together, tasks))
        report("ask_64_on_64", value * MICRO, "µs")
        value = await rounds(count, partial(tell_many, ref, count))
        report("tell", 1 / value, "1/s")
        value = await rounds(count, partial(tell_nowait, ref, count))
        report("tell_nowait", 1 / value, "1/s")


async def tell_nowait(ref: ActorRef[Add | Note], count: int) -> None:
    message = Note(1)
    for index in range(count):
        ref.tell_nowait(message)
        if index % 64 == 63:
            await trio.lowlevel.checkpoint()
    await ref.ask(Add(0))


async def bench_floor(scale: Scale) -> None:
    """Measure two task switches and nothing else: the lower bound of any ask between tasks."""
    waiting: dict[str, trio.lowlevel.Task] = {}

    def stay(_raise_cancel: object) -> trio.lowlevel.Abort:
        return trio.lowlevel.Abort.SUCCEEDED

    async def wake(who: str, me: str) -> None:
        if who in waiting:
            trio.lowlevel.reschedule(waiting.pop(who))
        waiting[me] = trio.lowlevel.current_task()
        await trio.lowlevel.wait_task_rescheduled(stay)

    async def partner() -> None:
        while True:
            await wake("asker", "partner")

    async def ask_many() -> None:
        for _ in range(scale.calls):
            await wake("partner", "asker")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(partner)
        await trio.testing.wait_all_tasks_blocked()
        value = await best(scale.rounds, scale.calls, ask_many)
        report("two_task_switches", value * MICRO, "µs")
        nursery.cancel_scope.cancel()


async def bench_channel(scale: Scale) -> None:
    count, each = scale.calls, scale.calls // 64
    adders = [ChannelAdder() for _ in range(64)]
    async with trio.open_nursery() as nursery:
        for adder in adders:
            nursery.start_soon(adder.run)
        one = adders[0]

        async def tell() -> None:
            for _ in range(count):
                await one.send.send((1, None))
            await one.ask_many(1)

        rounds = partial(best, scale.rounds)
        value = await rounds(count, partial(one.ask_many, count))
        report("ask_uncontended_trio_channel", value * MICRO, "µs")
        value = await rounds(each * 64, partial(together, [partial(one.ask_many, each)] * 64))
        report("ask_64_on_1_trio_channel", value * MICRO, "µs")
        tasks = [partial(adder.ask_many, each) for adder in adders]
        value = await rounds(each * 64, partial(together, tasks))
        report("ask_64_on_64_trio_channel", value * MICRO, "µs")
        report("tell_trio_channel", 1 / await rounds(count, tell), "1/s")
        nursery.cancel_scope.cancel()


async def bench_pykka(scale: Scale) -> None:
    count, each = scale.pykka_calls, scale.pykka_calls // 64
    refs = [PykkaAdder.start() for _ in range(64)]
    pool = ThreadPoolExecutor(64)

    def ask(ref: pykka.ActorRef[PykkaAdder], times: int) -> None:
        for _ in range(times):
            ref.ask(1)

    async def one() -> None:
        ask(refs[0], count)

    async def many(targets: list[pykka.ActorRef[PykkaAdder]]) -> None:
        list(pool.map(lambda ref: ask(ref, each), targets))

    async def tell() -> None:
        for _ in range(count):
            refs[0].tell(1)
        refs[0].ask(0)

    async def activate() -> None:
        for _ in range(count // 20):
            ref = PykkaAdder.start()
            ref.ask(1)
            ref.stop()

    try:
        rounds = partial(best, scale.rounds)
        report("ask_uncontended_pykka", await rounds(count, one) * MICRO, "µs")
        value = await rounds(each * 64, partial(many, [refs[0]] * 64))
        report("ask_64_on_1_pykka", value * MICRO, "µs")
        value = await rounds(each * 64, partial(many, refs))
        report("ask_64_on_64_pykka", value * MICRO, "µs")
        report("tell_pykka", 1 / await rounds(count, tell), "1/s")
        report("activation_pykka", await rounds(count // 20, activate) * MICRO, "µs")
    finally:
        pool.shutdown()
        pykka.ActorRegistry.stop_all()


def directory_of_adders(*, max_awake: int) -> tuple[Supervisor, Directory[int, Add | Note]]:
    root = Supervisor("bench")
    return root, root.add(DirectorySpec[int, Add | Note]("keys", Adder, max_awake=max_awake))


async def touch(keys: Directory[int, Add | Note], first: int, count: int) -> None:
    message = Add(1)
    for key in range(first, first + count):
        await keys.ask(key, message)


async def bench_activation(scale: Scale) -> None:
    """Measure first asks of new keys, each of which passivates another one."""
    root, keys = directory_of_adders(max_awake=100)
    async with root.running():
        count = scale.keys // 10
        firsts = iter(range(0, 10**9, count))

        async def run() -> None:
            await touch(keys, next(firsts), count)

        report("activation", await best(scale.rounds, count, run) * MICRO, "µs")


async def bench_channel_activation(scale: Scale) -> None:
    """Measure the minimum cost of a task for each key: start it, ask it once, end it."""
    count = scale.keys // 10

    async def run() -> None:
        for _ in range(count):
            adder = ChannelAdder()
            async with trio.open_nursery() as nursery:
                nursery.start_soon(adder.run)
                await adder.ask_many(1)
                adder.send.close()

    report("activation_trio_channel", await best(scale.rounds, count, run) * MICRO, "µs")


async def bench_memory(scale: Scale) -> None:
    """Measure the bytes of an idle active actor, and of each key that was passivated."""
    gc.collect()
    tracemalloc.start()
    root, keys = directory_of_adders(max_awake=2 * scale.idle)
    async with root.running():
        await touch(keys, 0, 10)
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        await touch(keys, 10, scale.idle)
        gc.collect()
        after = tracemalloc.get_traced_memory()[0]
        report("idle_actor", (after - before) / scale.idle, "B")
    async with trio.open_nursery() as nursery:
        adders = []
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(scale.idle):
            adders.append(ChannelAdder())
            nursery.start_soon(adders[-1].run)
        await trio.testing.wait_all_tasks_blocked()
        gc.collect()
        after = tracemalloc.get_traced_memory()[0]
        report("idle_actor_trio_channel", (after - before) / scale.idle, "B")
        nursery.cancel_scope.cancel()
    root, keys = directory_of_adders(max_awake=100)
    async with root.running():
        await touch(keys, 0, scale.keys // 10)
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        await touch(keys, scale.keys // 10, scale.keys)
        gc.collect()
        after = tracemalloc.get_traced_memory()[0]
        report("sleeping_actor", (after - before) / scale.keys, "B")
    tracemalloc.stop()


async def bench_memory_of_ended(scale: Scale) -> None:
    """Measure the same for tasks with channels, and for pykka actors, that ended after one ask."""

    async def channel(count: int) -> None:
        for _ in range(count):
            adder = ChannelAdder()
            async with trio.open_nursery() as nursery:
                nursery.start_soon(adder.run)
                await adder.ask_many(1)
                adder.send.close()

    async def thread(count: int) -> None:
        for _ in range(count):
            ref = PykkaAdder.start()
            ref.ask(1)
            ref.stop()

    for name, run, count in (
        ("sleeping_actor_trio_channel", channel, scale.keys // 4),
        ("sleeping_actor_pykka", thread, scale.keys // 40),
    ):
        tracemalloc.start()
        await run(count // 10)
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        await run(count)
        gc.collect()
        report(name, (tracemalloc.get_traced_memory()[0] - before) / count, "B")
        tracemalloc.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="less work, under 20 seconds")
    scale = Scale(quick=parser.parse_args().quick)
    for bench in (
        bench_floor,
        bench_octavo,
        bench_channel,
        bench_pykka,
        bench_activation,
        bench_channel_activation,
        bench_memory,
        bench_memory_of_ended,
    ):
        trio.run(bench, scale)


if __name__ == "__main__":
    main()
