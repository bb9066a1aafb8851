"""One cell: what it shows beside the grid, and people's own ratings of it."""
