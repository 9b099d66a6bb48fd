"""Callers and their rights: use cases, ports, attempt limits, and writing the audit."""
