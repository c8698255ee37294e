"""KV cache: how long prompts wait for their first token by cells, age and read scheme, and what is written."""

from __future__ import annotations
