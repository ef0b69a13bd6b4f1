# SPDX-License-Identifier: Apache-2.0
"""What programs that run models take from here. The tools that make or optimize models are not part of this package."""
