"""What moved between two boards, and why."""
