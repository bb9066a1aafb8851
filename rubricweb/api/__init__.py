"""The REST interface under /api/v1/: one file a resource, thin over access, selectors and actions."""
