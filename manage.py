#!/usr/bin/env python
"""Django's command line. Runs in the project's `.venv` whichever python starts it."""

from rubricweb.__main__ import main

if __name__ == "__main__":
    main()
