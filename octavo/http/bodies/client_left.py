"""The end of a request whose client is gone."""


class ClientLeft(Exception):
    """The client left before its body was whole: there is nobody to answer.

    No problem, as it has no answer. What was done with the part that arrived is up to whoever
    read it; a body that is read whole before it is looked at did nothing.
    """
