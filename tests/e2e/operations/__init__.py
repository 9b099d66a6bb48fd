"""Every operation of the contract, called over real sockets: its success and its refusals.

A case produces one response of one operation; a refusal is named by its code, a success by its
status. The modules of cases are named by topic.
"""
