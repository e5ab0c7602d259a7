"""Values from outside: whether they fit an annotation, and how they are read by it."""
