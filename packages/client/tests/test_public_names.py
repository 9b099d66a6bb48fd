"""The names that the package offers exist, and are its own."""

import octavo_client


def test_every_public_name_is_defined_by_the_client() -> None:
    homes = {name: getattr(octavo_client, name).__module__ for name in octavo_client.__all__}
    foreign = {name for name, home in homes.items() if not home.startswith("octavo_client.")}
    assert foreign == {"Operation", "Purge", "Save"}, "a union, and what the service reads as well"
