"""What grades, labels and rankings say: numpy over matrices, no loop over single grades."""
