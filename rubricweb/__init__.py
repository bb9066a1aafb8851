"""RubricWeb. Its version is stated on every board and export."""

import os

__version__ = "0.1.0"

# Boards multiply small matrices, for which the threads of BLAS mostly wait. Set before numpy loads.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
