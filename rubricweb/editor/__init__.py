"""Where people edit a bank and see what each edit does: a screen of `views` beside what it asks and shows."""
