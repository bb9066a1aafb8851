"""How far people agree with each other and with graders, and what seeing a grader's rating does to theirs."""
