"""Banks of questions and nuggets: a reader and a writer for each dialect."""
