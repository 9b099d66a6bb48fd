"""Use cases of search: find notes, and hold the texts that searches have looked at."""
