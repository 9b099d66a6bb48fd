"""The commands of the kernel, each imported when it is called."""
