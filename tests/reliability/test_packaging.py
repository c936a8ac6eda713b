"""The wheel and the sdist, as a user gets them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

import pytest

import numbo

ROOT = Path(__file__).parents[2]
SESSION = """
import sys
import numpy as np
import numbo
from numbo.kernels.cholesky import cholesky_into
from numbo.optuna import GSSBOSampler
import optuna
assert numbo.__file__.startswith(sys.argv[1]), numbo.__file__
optuna.logging.set_verbosity(optuna.logging.ERROR)
study = optuna.create_study(sampler=GSSBOSampler(seed=0, n_startup_trials=8))
study.optimize(lambda t: (t.suggest_float("x", -5, 5) - 2) ** 2, n_trials=8)
L = np.zeros((2, 2))  # one of the kernels, all of which are compiled in the same way
print(study.best_value < 1.0, cholesky_into(np.diag([4.0, 9.0]), 2, L), L.tolist())
"""


def checkout(source):
    """A copy of what a distribution is built from."""
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    shutil.copytree(ROOT / "integrations", source / "integrations", ignore=shutil.ignore_patterns("__pycache__"))
    (source / "tests").mkdir()
    for name in ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff"):
        shutil.copy(ROOT / name, source)
    shutil.copy(__file__, source / "tests")  # of a checkout, setuptools takes tests into an sdist unless told otherwise
    return source


def metadata_of(wheel: Path) -> str:
    archive = zipfile.ZipFile(wheel)
    (name,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
    return archive.read(name).decode()


@pytest.fixture(scope="module")
def built():
    """A folder that others may enter, with an sdist and the wheel that was built from it."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        source = checkout(Path(folder, "source"))
        command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", f"{folder}/dist", str(source)]
        result = subprocess.run(command, capture_output=True, text=True)
        assert result.returncode == 0, result.stdout + result.stderr
        yield Path(folder)


def test_the_wheel_holds_the_package_and_nothing_else(built):
    (wheel,) = (built / "dist").glob("*.whl")
    names = {n for n in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in n}
    modules = {f"numbo/{p.relative_to(ROOT / 'src' / 'numbo')}" for p in (ROOT / "src" / "numbo").rglob("*.py")}
    for part in ("optuna", "ray"):
        modules |= {f"numbo/{part}/{p.name}" for p in (ROOT / "integrations" / part).glob("*.py")}
    assert names == modules | {"numbo/py.typed"}


def test_a_deleted_module_is_not_in_the_next_wheel(tmp_path):
    source, found = checkout(tmp_path / "source"), []
    extra = source / "src" / "numbo" / "extra.py"
    extra.touch()
    for k in range(2):
        command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path / str(k), source]
        result = subprocess.run(command, capture_output=True, text=True)
        assert result.returncode == 0, result.stdout + result.stderr
        (wheel,) = (tmp_path / str(k)).glob("*.whl")
        found.append("numbo/extra.py" in zipfile.ZipFile(wheel).namelist())
        extra.unlink(missing_ok=True)
    assert found == [True, False]
    assert not (source / "build").exists()


def test_the_version_is_the_same_everywhere(built):
    (wheel,) = (built / "dist").glob("*.whl")
    assert wheel.name.startswith(f"numbo-{numbo.__version__}-")
    assert f"\nversion: {numbo.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    newest = re.findall(r"^## \[(.*?)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[0]
    assert newest in ("Unreleased", numbo.__version__)


def test_only_what_users_install_is_an_extra(built):
    (wheel,) = (built / "dist").glob("*.whl")
    found = re.findall(r"^Provides-Extra: (.*)$", metadata_of(wheel), re.MULTILINE)
    assert sorted(found) == ["all", "optuna", "plot", "ray"]


def test_links_lead_to_the_repository_from_pypi_too(tmp_path):
    source = checkout(tmp_path / "source")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(source)]
    environment = os.environ | {"NUMBO_URL": "https://example.org/someone/numbo/"}
    result = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    (wheel,) = tmp_path.glob("*.whl")
    head, text = metadata_of(wheel).split("\n\n", 1)
    urls = dict(line.split(", ") for line in re.findall(r"^Project-URL: (.*)$", head, re.MULTILINE))
    files = f"https://example.org/someone/numbo/blob/v{numbo.__version__}"
    assert urls["Repository"] == "https://example.org/someone/numbo"
    assert urls["Changelog"] == f"{files}/CHANGELOG.md"
    targets = re.findall(r"(!?)\[[^]]*\]\(([^)]*)\)", text)
    assert ("", f"{files}/docs/index.md") in targets
    assert ("!", f"{files.replace('blob', 'raw')}/docs/images/quality.svg") in targets
    assert [target for _, target in targets if not target.startswith("https://")] == []


def test_without_an_address_the_readme_stays_as_it_is(built):
    (wheel,) = (built / "dist").glob("*.whl")
    head, text = metadata_of(wheel).split("\n\n", 1)
    assert "Project-URL" not in head
    assert text.strip() == (ROOT / "README.md").read_text().strip()


def test_the_guide_names_the_versions_that_are_required(built):
    (wheel,) = (built / "dist").glob("*.whl")
    metadata = metadata_of(wheel).lower()
    guide = (ROOT / "docs" / "guides" / "versions.md").read_text().lower().split("## what is supported")[1]
    required = set(re.findall(r"^requires-(?:dist: )?(\w+)(?:\[tune\])?(?:: )?>=(\d+\.\d+)", metadata, re.MULTILINE))
    named = set(re.findall(r"(python|numpy|numba|scipy|optuna|ray) (\d+\.\d+)", guide))
    assert len(named) == 6
    assert named <= required


GOOD = """
import numpy as np
import optuna
from ray.tune.search import Searcher

import numbo.plot.matplotlib
from numbo import BBKB, GPUCB, GSSBO, BBKBSettings, Float, GPUCBSettings, GSSBOSettings, Int, SBPESettings, Space
from numbo.optimizers import Explanation
from numbo.optuna import GSSBOSampler, SBPESampler, best_predicted, explain, predict
from numbo.ray import GSSBOSearch, SBPESearch

paper = GSSBOSettings.of_preset("paper", kernel="rbf", learn_failures=False)
study = optuna.create_study(sampler=GSSBOSampler(seed=0, settings=paper))
fixed = SBPESettings(lengthscale=[0.2, 0.3], noise_std=0.1)
study.sampler = SBPESampler(seed=0, horizon=500, settings=fixed)
mean, std = predict(study, {"x": 0.5})
low: float = mean - 2 * std
means, stds = predict(study, [{"x": 0.5}, {"x": 0.6}])
lows: np.ndarray[tuple[int, ...], np.dtype[np.float64]] = means - 2 * stds
found: Explanation = explain(study)
best = best_predicted(study)
if best is not None:
    predict(study, best[0])

opt = GSSBO({"x": Float(0, 1), "k": Int(1, 9)}, seed=np.random.default_rng(0), buffer_size="dynamic")
GPUCB(Space({"x": Float(0, 1)}), beta="log", settings=GPUCBSettings(trend=True))
BBKB(arms=np.ones((3, 2)), lengthscale=0.5, noise_std=0.1, settings=BBKBSettings(min_batch=2))
half: float = opt.predict({"x": 0.5, "k": 3})[0] / 2

search: Searcher = GSSBOSearch(metric="loss", mode="min", buffer_size=64, points_to_evaluate=[{"x": 0.5}])
config: dict[str, object] | None = GSSBOSearch().suggest("trial")
quarter: float = SBPESearch(horizon=60).predict({"x": 0.5})[0] / 4
shape: tuple[int, ...] = numbo.plot.matplotlib.plot_posterior(study).shape
"""
#: What a user may get wrong, and what the checker has to say of it.
WRONG = {
    'GSSBOSampler(kernle="rbf")': 'Unexpected keyword argument "kernle" for "GSSBOSampler"',
    'GSSBOSampler(n_startup_trials="10")': 'Argument "n_startup_trials" to "GSSBOSampler" has incompatible type "str"',
    'GSSBOSampler(search_space={"x": (0, 1)})': "incompatible type",
    "GSSBOSearch(bufer_size=64)": 'Unexpected keyword argument "bufer_size" for "GSSBOSearch"',
    'GSSBOSearch(points_to_evaluate={"x": 1})': 'Argument "points_to_evaluate" to "GSSBOSearch"',
    'GSSBO({"x": Float(0, 1)}, n_startup_trials=3)': 'Unexpected keyword argument "n_startup_trials" for "GSSBO"',
    'GSSBO({"x": Float(0, 1)}, direction="min")': 'Argument "direction" to "GSSBO" has incompatible type',
    'GSSBO({"x": Float(0, 1)}, avoid_repeats="never")': 'Argument "avoid_repeats" to "GSSBO" has incompatible type',
    'GSSBO({"x": Float(0, 1)}, preset="papers")': 'Argument "preset" to "GSSBO" has incompatible type',
    'BKB({"x": Float(0, 1)}, beta="log")': 'Argument "beta" to "BKB" has incompatible type',
    'GSSBOSettings(acquisition="ei")': 'Argument "acquisition" to "GSSBOSettings" has incompatible type',
    'BKB({"x": Float(0, 1)}, ratio_threshold=2.0)': 'Unexpected keyword argument "ratio_threshold" for "BKB"',
    'predict(study, {"x": 0.5})[0].shape': '"float" has no attribute "shape"',
    "study.sampler.explain()": 'has no attribute "explain"',  # to Optuna it is any sampler: explain(study)
    "search: Searcher = study": 'expression has type "Study", variable has type "Searcher"',
}
#: What users of numbo do not see of its dependencies; to read all of them takes a checker half a minute.
UNSEEN = """
[mypy-ray.*,alembic.*,matplotlib.*,pandas.*,plotly.*,pyarrow.*,sqlalchemy.*]
follow_imports = skip
[mypy-ray.tune.search,ray.tune.search.searcher]
follow_imports = normal
"""


def test_a_type_checker_knows_the_settings_and_what_is_found_inside(built, tmp_path):
    pytest.importorskip("mypy")
    (wheel,) = (built / "dist").glob("*.whl")
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    (tmp_path / "good.py").write_text(GOOD)
    imports = "import optuna\nfrom numbo import BKB, GSSBO, Float, GSSBOSettings\n"
    imports += "from numbo.optuna import GSSBOSampler, predict\n"
    imports += "from numbo.ray import GSSBOSearch\nfrom ray.tune.search import Searcher\n"
    imports += "study = optuna.create_study()\n"
    (tmp_path / "wrong.py").write_text(imports + "\n".join(WRONG))
    (tmp_path / "mypy.ini").write_text("[mypy]\nstrict = True\n" + UNSEEN)
    # the cache holds what is known of NumPy and Optuna
    command = [sys.executable, "-m", "mypy", "--cache-dir", str(ROOT / "build" / "mypy-users")]
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "site")}
    result = subprocess.run(
        [*command, "good.py", "wrong.py"], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    lines = [line for line in result.stdout.splitlines() if ": error: " in line]
    assert not [line for line in lines if not line.startswith("wrong.py:")], result.stdout
    said = {int(line.split(":")[1]): line for line in lines}
    first = imports.count("\n") + 1
    assert sorted(said) == list(range(first, first + len(WRONG))), result.stdout + result.stderr
    for number, words in enumerate(WRONG.values(), start=first):
        assert words in said[number]


def test_the_sdist_holds_the_licence_and_no_results(built):
    (sdist,) = (built / "dist").glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {n.split("/", 1)[1] for n in archive.getnames() if "/" in n}
    assert {"LICENSE", "README.md", "CHANGELOG.md", "pyproject.toml", "integrations/ray/_searchers.py"} <= names
    assert not any(n.startswith(("benchmarks", "tests")) for n in names)


def test_a_read_only_installation_without_a_home_works(built):
    obedient = []
    if os.geteuid() == 0:  # permissions mean nothing to root, unless it gives up that capability
        if shutil.which("setpriv") is None:
            pytest.skip("as root, setpriv is needed to make permissions count")
        obedient = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
    (wheel,) = (built / "dist").glob("*.whl")
    site = built / "site"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-compile"]
    subprocess.run([*command, "--target", str(site), str(wheel)], check=True)
    for path in [site, *site.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(site), "HOME": str(wheel)}  # no folder
    try:
        result = subprocess.run(
            [*obedient, sys.executable, "-W", "ignore", "-c", SESSION, str(site)],
            env=environment,
            cwd="/",
            capture_output=True,
            text=True,
        )
        assert result.stdout.strip() == "True True [[2.0, 0.0], [0.0, 3.0]]", result.stderr
        assert not list(site.rglob("*.nbi"))
    finally:
        for path in [site, *site.rglob("*")]:
            path.chmod(0o755)
