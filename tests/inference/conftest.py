"""What is said needs a model."""

import pytest

pytest.importorskip("torch")
