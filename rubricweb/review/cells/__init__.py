"""One cell: the panel beside the grid, and people's own ratings."""
