"""Where review starts: what waits for the person who looks."""
