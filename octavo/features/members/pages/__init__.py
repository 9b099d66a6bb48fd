"""The pages of members."""
