"""What is read and written in a month, and limits of it and of storage."""
