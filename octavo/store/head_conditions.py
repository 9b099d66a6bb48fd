"""The conditions by which a search of either engine finds heads."""

from octavo.model.search.query import HeadFilter
from octavo.store.transaction import Value


def head_conditions(heads: HeadFilter, preceding: int) -> tuple[str, list[Value]]:
    """Return the conditions of a statement with the table ``files``, and their arguments.

    ``preceding`` is the number of arguments that the statement has already.
    """
    sql = ""
    arguments: list[Value] = []
    for condition, value in (
        ("files.changed_at >= ${}", heads.since),
        ("files.changed_at < ${}", heads.before),
        ("files.author_id = ${}::uuid", heads.author),
    ):
        if value is not None:
            arguments.append(value)
            sql += f" AND {condition.format(preceding + len(arguments))}"
    return sql, arguments
