"""Tests of `octavo.attachments`."""
