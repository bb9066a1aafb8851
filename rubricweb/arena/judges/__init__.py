"""Language models as raters of their own kind in the arena: asked by a job, counted apart from people."""
