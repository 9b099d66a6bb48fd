"""Who calls, and who may do what: use cases, ports, attempt limits, the audit as it is written."""
