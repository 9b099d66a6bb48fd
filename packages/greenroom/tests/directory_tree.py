"""A root with one directory of actors that keep words."""

from collections import Counter as Tally

from greenroom import Backoff, Directory, DirectorySpec, QuarantineRule, Runtime, Supervisor

from .actors import Counter, CounterMessage, Recorder


class Tree:
    """A root with one directory, and the log of its actors."""

    def __init__(
        self,
        *,
        max_awake: int = 100,
        idle: float = 10,
        crashes: int = 3,
        capacity: int = 1000,
    ) -> None:
        self.recorder = Recorder()
        self.log: list[str] = []
        self.root = Supervisor("root", runtime=Runtime(observer=self.recorder))
        self.keys: Directory[str, CounterMessage] = self.root.add(
            DirectorySpec(
                "keys",
                self.make,
                idle_timeout=idle,
                max_awake=max_awake,
                mailbox_capacity=capacity,
                backoff=Backoff(first=1, factor=2, jitter=0),
                quarantine=QuarantineRule(crashes=crashes, period=60, first=20, maximum=100),
            )
        )
        self.made: Tally[str] = Tally()

    def make(self, key: str) -> Counter:
        self.made[key] += 1
        return Counter(self.log, key)
