"""Mutation tests: each mutant is a module with one small fault, which some test should find."""
