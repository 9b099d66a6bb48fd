"""Snapshots of a tree of actors for operators, as values and as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from greenroom.statistics import HistogramSnapshot, MailboxStatistics

Kind = Literal["supervisor", "actor", "worker", "directory", "virtual actor"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeNode:
    """One supervisor, actor, worker or directory at one moment.

    Attributes:
        name: its name below its parent.
        kind: supervisor, actor, worker, directory or virtual actor.
        state: such as ``running``, ``starting``, ``restarting``, ``stopped``.
        restarts: the number of restarts.
        mailbox: depth, capacity, age of the oldest message; None if it has no mailbox.
        wait: seconds from admission to handling; None if it handles no messages.
        handling: seconds in the handler; None if it handles no messages.
        details: further counts by name, such as those of `DirectoryStatistics`.
        children: the nodes below it, in order of start.
    """

    name: str
    kind: Kind
    state: str
    restarts: int = 0
    mailbox: MailboxStatistics | None = None
    wait: HistogramSnapshot | None = None
    handling: HistogramSnapshot | None = None
    details: Mapping[str, float] = field(default_factory=dict)
    children: tuple[TreeNode, ...] = ()

    def walk(self, parent: str = "") -> Iterator[tuple[str, TreeNode]]:
        """Yield every node with its path, parents first."""
        path = f"{parent}/{self.name}" if parent else self.name
        yield path, self
        for child in self.children:
            yield from child.walk(path)


def render_tree(node: TreeNode) -> str:
    """Return the tree as text for a terminal, one line for each node."""
    return "\n".join(_lines(node, "", ""))


def _lines(node: TreeNode, first: str, rest: str) -> Iterator[str]:
    yield first + _describe(node)
    for index, child in enumerate(node.children):
        last = index == len(node.children) - 1
        yield from _lines(
            child, rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  ")
        )


def _describe(node: TreeNode) -> str:
    parts = [f"{node.name} ({node.kind}, {node.state})"]
    if node.restarts:
        parts.append(f"restarts {node.restarts}")
    if node.mailbox is not None:
        parts.append(f"waiting {node.mailbox.depth}/{node.mailbox.capacity}")
        if node.mailbox.depth:
            parts.append(f"oldest {_duration(node.mailbox.oldest_age)}")
    if node.wait is not None and node.handling is not None and node.handling.count:
        parts.append(f"handled {node.handling.count}")
        for label, histogram in (("wait", node.wait), ("handling", node.handling)):
            p50, p99 = _duration(histogram.quantile(0.5)), _duration(histogram.quantile(0.99))
            parts.append(f"{label} p50 {p50} p99 {p99}")
    parts.extend(f"{name} {value:g}" for name, value in node.details.items())
    return "  ".join(parts)


def _duration(seconds: float) -> str:
    if seconds >= 1.0:
        return f"{seconds:.1f}s"
    if seconds >= 1e-3:
        return f"{seconds * 1e3:.1f}ms"
    return f"{seconds * 1e6:.0f}µs"
