"""`make release` begins only with a tree that is ready."""

from __future__ import annotations

import importlib.util
import subprocess

import pytest

FILES = {
    "pyproject.toml": 'name = "x"\nversion = "0.2.0"\n',
    "CHANGELOG.md": "# Changelog\n\n## [0.2.0] - 2026-01-02\n\n## [0.1.0] - 2025-01-02\n",
    "src/dataprep/__init__.py": '__version__ = "0.2.0"\n',
}


@pytest.fixture
def release(root):
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("release", root / "scripts/release.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def tree(tmp_path):
    """A committed tree that is ready."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    me = ["-c", "user.name=x", "-c", "user.email=x@example.com"]
    for words in (["init", "-q"], ["add", "."], [*me, "commit", "-qm", "x"]):
        subprocess.run(["git", "-C", str(tmp_path), *words], check=True)
    return tmp_path


def test_a_ready_tree_has_no_problems(release, tree):
    """The version is stated three times alike, the entry is dated, and all is committed."""
    assert release.problems(tree, "2026-01-02") == []


@pytest.mark.parametrize(("name", "old", "new", "said"), [
    ("src/dataprep/__init__.py", "0.2.0", "0.1.9", "states version 0.1.9, pyproject.toml 0.2.0"),
    ("CHANGELOG.md", "[0.2.0]", "[0.3.0]", "is of version 0.3.0, not of 0.2.0"),
    ("CHANGELOG.md", "2026-01-02", "unreleased", "is dated 'unreleased'; write 2026-01-02"),
])  # fmt: skip
def test_every_problem_is_a_sentence(release, tree, name, old, new, said):
    """What is wrong is said, besides that the change is not committed."""
    path = tree / name
    path.write_text(path.read_text().replace(old, new))
    first, last = release.problems(tree, "2026-01-02")
    assert said in first
    assert last == "files are changed or not committed; commit or remove them"


def test_a_version_is_released_once(release, tree):
    """A tag of the version stops the release."""
    subprocess.run(["git", "-C", str(tree), "tag", "v0.2.0"], check=True)
    assert release.problems(tree, "2026-01-02") == ["the tag v0.2.0 exists; increase the version"]
