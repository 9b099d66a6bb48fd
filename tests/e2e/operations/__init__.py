"""Every operation of the contract, by a client over real sockets: its success and its refusals.

A case brings about one answer of one operation; a refusal is named by its code, a success by its
status. The modules of cases are named for what they are about.
"""
