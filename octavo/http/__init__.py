"""The HTTP interface of Octavo: the server, the contract, the operations and the pages."""
