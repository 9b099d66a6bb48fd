"""Room for as many connections as are to be let in: each takes an open file."""

import resource

# For the listener, the store, logs, and connections that are told to come back later.
RESERVE = 256


def make_room(connections: int) -> int:
    """Raise this process's limit of open files for ``connections``, as far as it may.

    Answers how many connections there is room for; nothing is lowered.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + RESERVE
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return connections
    limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if limit > soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    return min(connections, max(limit - RESERVE, limit // 2))
