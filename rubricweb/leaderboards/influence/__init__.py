"""How a board depends on single items, on what was graded, on the pool's teams, on who wrote the items."""
