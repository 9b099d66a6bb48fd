"""What the worker processes of images run: inspection, thumbnails, removal of personal metadata.

The modules import only the standard library and Pillow, so that a worker starts fast. Deadlines and
limits of memory are enforced by the process that starts the workers. Nothing is imported here:
`octavo.images.facts` does not load Pillow, and a process that only sends work can import it alone.
"""
