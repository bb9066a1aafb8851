"""What a board hangs on: single items, what was graded, which teams filled the pool, who wrote the items."""
