# SPDX-License-Identifier: Apache-2.0
# The extension module is for the package itself.
from typing import Any

def __getattr__(name: str) -> Any: ...
