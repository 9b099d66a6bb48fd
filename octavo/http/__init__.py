"""What Octavo answers over HTTP: today its health and readiness, on one listener."""
