"""The transaction scripts of the kernel: files, changesets, the feed, accounts, audit."""
