"""The control socket: how a command of the same machine and user asks a running server.

``client`` asks, ``socket`` and ``serving`` answer, ``lines`` is what goes between them. The client
loads neither trio nor the server, so that a command starts fast.
"""
