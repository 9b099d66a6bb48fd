"""What Octavo answers over HTTP: the operations of the contract, the pages, and the wire."""
