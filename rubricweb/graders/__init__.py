"""A collection's own prompts: written in a form, tried on chosen passages by a worker, and saved for good."""
