"""The framework of the API: operations, routing, parameters, bodies, problems, OpenAPI."""
