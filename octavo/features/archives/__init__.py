"""Archives: imports in parts, exports, and the worker that reads and writes them."""
