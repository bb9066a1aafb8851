"""How a run is scored on a topic: measures by kind, and the registry that lists them."""
