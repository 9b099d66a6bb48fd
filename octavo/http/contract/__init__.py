"""What an operation is: declaration, routing, parameters, bodies, problems, OpenAPI."""
