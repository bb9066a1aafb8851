"""Agreement of labels with human judgments and with each other, passage by passage."""
