"""The responses of one run: its answer to a topic in order, with what it cites and which items it covers."""
