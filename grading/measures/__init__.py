"""How a run is scored on a topic: one measure a file, and the registry that lists them."""
