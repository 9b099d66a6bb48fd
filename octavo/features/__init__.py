"""The features of the service, each in a folder of its own.

A feature imports the kernel and the features before it; `octavo.service.features` lists them.
"""
