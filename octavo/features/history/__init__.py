"""Earlier states: comparison, restoration, the undo of what a program changed, pruning."""
