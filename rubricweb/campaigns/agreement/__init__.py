"""Agreement of assessors with each other and with graders, and the effect of seeing a grader's rating."""
