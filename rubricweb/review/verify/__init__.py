"""Check a grader: its ratings, worst suspicion first or at random, found right or wrong with one key."""
