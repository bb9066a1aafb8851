"""The side of the bank editor that shows grades: coverage of items, impact of an edit, their forms."""
