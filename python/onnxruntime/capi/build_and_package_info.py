# SPDX-License-Identifier: Apache-2.0
"""Name and version of the package."""

from onyx import get_version_string as _version

package_name = "onnxruntime"
__version__ = _version()
