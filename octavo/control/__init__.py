"""The control socket: how a command of the same machine and user asks a running server.

``client`` sends requests, ``serving`` responds, and ``lines`` defines the messages.
The client loads neither trio nor the server, so that a command starts fast.
"""
