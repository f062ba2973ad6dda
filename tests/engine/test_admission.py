"""Whatever `check` accepts, the real admission accepts; and what we rendered comes back as we said it.

The second half matters as much as the first: a field that the server rewrites would show as a change at every preview, and on a
Volcano Job every later update would be denied.
"""

from __future__ import annotations
