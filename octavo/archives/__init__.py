"""Archives of a workspace: reading one to import, and writing one to export; without a database.

An import runs in worker processes, in two steps: `octavo.archives.survey` reads the directory of
the archive, and `octavo.archives.note_check` and `octavo.archives.image_check` read its files. The
modules import neither trio nor pydantic, so that a worker starts fast; nothing is imported here.
"""
