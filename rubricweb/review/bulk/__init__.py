"""Many cells of a grid at once: grade them, find the grader right, give them to somebody."""
