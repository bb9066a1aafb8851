"""Does the passage that a sentence of an answer cites support the sentence?"""
