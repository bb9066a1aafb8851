"""Does the passage that a sentence of a response cites support the sentence: by models and by people."""
