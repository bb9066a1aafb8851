"""Many cells of a grid at once: grade them, mark the grader right, assign them."""
