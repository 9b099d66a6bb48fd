"""Worker processes for work that needs much processor time, or reads what may be crafted.

They have the lowest priority, can be killed, and share neither Python's lock nor the memory map nor
the environment with the server. Only JSON comes back from them.
"""

from octavo.workers.pool import RunWork, WorkerPool
from octavo.workers.worker import WorkerFailed, WorkOutOfSpace, WorkRefused, WorkTooLarge

__all__ = ["RunWork", "WorkOutOfSpace", "WorkRefused", "WorkTooLarge", "WorkerFailed", "WorkerPool"]
