"""Meta-evaluation: how well the boards of graders, prompts, thresholds and banks agree with another board."""
