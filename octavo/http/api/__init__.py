"""The operations of the contract, one module a tag."""
