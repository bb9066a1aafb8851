"""What people say about an item, a passage or a cell: flags, comments, and their inbox."""
