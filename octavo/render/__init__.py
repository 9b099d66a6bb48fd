"""The Markdown grammar of notes, its limits, and its HTML.

Nothing is imported here: `octavo.render.limits` and `octavo.render.front_matter` do not load the
parser, and a process that only checks texts starts fast.
"""
