"""What is kept packed so that it is read quickly; never the truth."""
