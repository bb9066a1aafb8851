"""What scores, ratings and labels tell: means, intervals, paired tests, correlation, agreement, influence."""
