"""Everybody who calls: who they are, how they prove it, and which marks they may see."""

from dataclasses import dataclass, field

from tests.access_matrix import world as marks
from tests.access_matrix.world import FROM_HERE, OPERATOR, Header, Ids, World
from tests.fakes.users_api import bearer, cookie

NOBODYS = frozenset({marks.OF_PUBLISHED})
"""What everybody may see who has the address of the link."""
OUTSIDERS = NOBODYS | {marks.OF_PROGRAM}
"""What the member of another workspace may see, who uses the same program."""
READERS = NOBODYS | {marks.OF_NAME, marks.OF_NOTES, marks.OF_FOLDER, marks.OF_PROGRAM}
MANAGERS = READERS | {marks.OF_LINKS, marks.OF_INVITED}
OWNERS = MANAGERS | {marks.OF_ACCOUNT}


@dataclass(frozen=True)
class Caller:
    """A kind of caller.

    Attributes:
        name: the heading of its column.
        headers: prove who it is.
        own: ids of what belongs to it, of which there may be nothing.
        sees: the marks that may be in responses to it.
        session: the token of its session; empty without one.
    """

    name: str
    headers: tuple[Header, ...] = ()
    own: Ids = field(default_factory=dict)
    sees: frozenset[str] = NOBODYS
    session: str = ""


PEOPLE: dict[str, tuple[str, frozenset[str]]] = {
    "member elsewhere": ("outsider", OUTSIDERS),
    "reader": ("reader", READERS),
    "editor": ("editor", READERS),
    "manager": ("manager", MANAGERS),
    "owner": ("owner", OWNERS),
    "locked": ("locked", NOBODYS | {marks.OF_NAME}),
    "disabled": ("disabled", NOBODYS),
    "removed": ("removed", NOBODYS),
    "administrator": ("root", NOBODYS),
}
"""By heading, those with a session: the name of the person, and the marks."""
PROGRAMS: dict[str, tuple[str, frozenset[str]]] = {
    "key": ("key", OWNERS),
    "key: read": ("key: read", READERS),
    "key: write": ("key: write", READERS),
    "key: folder": ("key: folder", NOBODYS | {marks.OF_NAME, marks.OF_FOLDER}),
    "key: elsewhere": ("key: elsewhere", NOBODYS),
    "key: revoked": ("key: revoked", NOBODYS),
    "program": ("grant", READERS),
}
"""By heading, keys and access tokens of the owner: the name of the secret, and the marks."""
ELSEWHERE = "program elsewhere"
ENDED = "ended session"
COLUMNS = (
    "stranger",
    "member elsewhere",
    "reader",
    "editor",
    "manager",
    "owner",
    ENDED,
    *PROGRAMS,
    ELSEWHERE,
    "locked",
    "disabled",
    "removed",
    "administrator",
    "operator",
)


def callers(world: World) -> list[Caller]:
    """One of each kind, in the order of the columns."""
    found = {"stranger": Caller("stranger")}
    for name, (person_name, sees) in PEOPLE.items():
        person = world.people[person_name]
        found[name] = Caller(name, person.headers, person.ids, sees, person.token)
    owner = world.people["owner"]
    for name, (secret, sees) in PROGRAMS.items():
        found[name] = Caller(name, (bearer(world.secrets[secret]),), owner.ids, sees)
    found[ENDED] = Caller(ENDED, (cookie(owner.ended), FROM_HERE), owner.ids, NOBODYS, owner.ended)
    outsider = world.people["outsider"]
    token = bearer(world.secrets["grant elsewhere"])
    found[ELSEWHERE] = Caller(ELSEWHERE, (token,), outsider.ids, OUTSIDERS)
    found["operator"] = Caller("operator", (bearer(OPERATOR),))
    return [found[name] for name in COLUMNS]
