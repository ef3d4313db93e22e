"""The published JSON Schema."""

from __future__ import annotations

import json

from pytest_devperf.record.codec import schema


def test_the_published_schema_is_the_one_of_the_types(golden):
    golden("docs/schema.json", json.dumps(schema(), indent=1, ensure_ascii=False) + "\n")
