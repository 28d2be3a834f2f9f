"""A definition tree from a few files, loaded."""

from __future__ import annotations

import pytest

from terrazzo.schema.deffiles import load_tree
from terrazzo.schema.loaded import Loaded
from tests.schema.deffiles_trees import write_tree


@pytest.fixture
def load(tmp_path):
    def load_files(files: dict[str, str | bytes], **options) -> Loaded:
        return load_tree(write_tree(tmp_path, files), **options)

    return load_files
