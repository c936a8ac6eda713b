"""What `pyproject.toml` cannot say: nothing of an earlier build is in a wheel, and none is left in the checkout.

The address of the repository is not written down anywhere: the workflow that releases passes it in `NUMBO_URL`. With
it, the metadata have URLs, and the links of the README, which are relative, lead to the repository from PyPI as well.
"""

import atexit
import os
import re
import shutil
import tempfile
from pathlib import Path

from setuptools import setup
from setuptools.command.build import build

HERE = Path(__file__).parent
URL = os.environ.get("NUMBO_URL", "").rstrip("/")


class BuildElsewhere(build):
    """Build in a new temporary folder: `build/lib` would keep modules that were deleted since."""

    def initialize_options(self) -> None:
        super().initialize_options()
        self.build_base = tempfile.mkdtemp(prefix="numbo-build-")
        atexit.register(shutil.rmtree, self.build_base, ignore_errors=True)


def version() -> str:
    """The version in `pyproject.toml`, by which releases are tagged."""
    (found,) = re.findall(r'^version = "(.+)"$', (HERE / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    return str(found)


def readme(files: str) -> str:
    """The README, whose relative links lead to the ``files`` of a repository, if they are given."""
    text = (HERE / "README.md").read_text(encoding="utf-8")
    if not files:
        return text
    text = re.sub(r"(!\[[^]]*\]\()(?!https?:|#)", rf"\g<1>{files.replace('/blob/', '/raw/')}/", text)
    return re.sub(r"((?<!!)\[[^]]*\]\()(?!https?:|#)", rf"\g<1>{files}/", text)


FILES = f"{URL}/blob/v{version()}" if URL else ""
PAGES = {
    "Documentation": f"{FILES}/docs/index.md",
    "Repository": URL,
    "Changelog": f"{FILES}/CHANGELOG.md",
    "Issues": f"{URL}/issues",
}

setup(
    cmdclass={"build": BuildElsewhere},
    long_description=readme(FILES),
    long_description_content_type="text/markdown",
    project_urls=PAGES if URL else {},
)
