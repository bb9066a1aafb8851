"""Views of grids that a person named, to come back to them in any topic of the collection."""
