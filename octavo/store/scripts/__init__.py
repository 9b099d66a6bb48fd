"""Transaction scripts by what they are about; each is a function that returns a `Script`."""
