#!/usr/bin/env python
"""Django's command line, which has the verbs of `rubricweb`, too."""

import sys

from rubricweb.__main__ import main

if __name__ == "__main__":
    main(["manage", *sys.argv[1:]])
