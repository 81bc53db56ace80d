"""Libraries that are used where the program has imported them."""

import sys
from typing import Any


def loaded(name: str) -> Any:
    """The module, if the program has imported it to its end; otherwise None."""
    module = sys.modules.get(name)
    if module is None or getattr(getattr(module, "__spec__", None), "_initializing", False):
        return None
    return module
