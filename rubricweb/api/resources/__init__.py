"""What scripts read and write, one file a resource."""
