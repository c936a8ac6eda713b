"""What `pyproject.toml` cannot say: nothing of an earlier build is in a wheel, and none is left in the checkout."""

import atexit
import shutil
import tempfile

from setuptools import setup
from setuptools.command.build import build


class BuildElsewhere(build):
    """Build in a new temporary folder: `build/lib` would keep modules that were deleted since."""

    def initialize_options(self) -> None:
        super().initialize_options()
        self.build_base = tempfile.mkdtemp(prefix="numbo-build-")
        atexit.register(shutil.rmtree, self.build_base, ignore_errors=True)


setup(cmdclass={"build": BuildElsewhere})
