"""Another checkout of numbo against this one, on families of problems.

Both sides run the same problems, those of this checkout (`benchmarks.problems.families`), with equal seeds. A slot for
each core has two processes, one of each side, which take turns; so their times can be compared. Each finished run is
written as a line of JSON; pairs of runs that are already there are not repeated, as long as neither checkout has
changed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tqdm import tqdm

from benchmarks.arguments import add_names
from benchmarks.compare import environments
from benchmarks.compare.versions_report import Pair, write_report
from benchmarks.problems.families import FAMILIES, Family
from benchmarks.storage import RESULTS, load

SIDES = ("before", "now")
#: A kernel that is missing in the cache is compiled at once, and not by a thread beside the study that is timed.
VARIABLES = {"NUMBO_COMPILE_AHEAD": "0", "PYTHONPATH": str(environments.ROOT), "PYTHONHASHSEED": "0"}
VARIABLES |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
#: Seeds of a quick comparison.
QUICK_SEEDS = 2


@dataclass(frozen=True)
class Side:
    """What one side runs."""

    python: Path
    root: Path
    state: str
    sampler: str
    settings: dict[str, Any]

    def words(self) -> str:
        settings = f" with {json.dumps(self.settings)}" if self.settings else ""
        return f"{self.state}, {self.sampler}{settings}"


class Worker:
    """A process of one side. It starts when it is first asked for something, and again if it has died."""

    def __init__(self, side: Side) -> None:
        self.side = side
        self.process: subprocess.Popen[str] | None = None
        self.errors: IO[bytes] | None = None
        self.hello: dict[str, Any] = {}

    def start(self) -> None:
        """Start the process and warm it up.

        Raises:
            RuntimeError: if it does not start, or imports numbo from elsewhere.
        """
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115  (closed by `stop`)
        command = [str(self.side.python), "-m", "benchmarks.compare.versions_worker"]
        pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": self.errors}
        environment = os.environ | VARIABLES
        self.process = subprocess.Popen(command, cwd=environments.ROOT, env=environment, text=True, **pipes)
        self.hello = self._read()
        place = self.hello.get("numbo")
        if place is None:
            raise RuntimeError(f"the process of {self.side.root} does not start: {self.hello['error']}")
        if not Path(place).is_relative_to(self.side.root.resolve()):
            raise RuntimeError(f"numbo should come from {self.side.root}; {self.side.python} imports {place}")
        found = self._ask({"warm": True} | self._settings())
        if "error" in found:
            raise RuntimeError(f"{self.side.root} cannot be warmed up: {found['error']}")

    def run(self, pair: Pair) -> dict[str, Any]:
        """The figures of a run, or an ``error``."""
        try:
            if self.process is None:
                self.start()
        except RuntimeError as error:
            self.stop()
            return {"error": str(error)}
        return self._ask(vars(pair) | self._settings())

    def stop(self) -> None:
        """End the process, whatever it does."""
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None
        if self.errors is not None:
            self.errors.close()
            self.errors = None

    def _settings(self) -> dict[str, Any]:
        return {"sampler": self.side.sampler, "settings": self.side.settings}

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self.process is not None
        assert self.process.stdin is not None
        request = {"name" if key == "problem" else key: value for key, value in request.items()}
        try:
            self.process.stdin.write(json.dumps(request) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # the process has died, which the reading reports
        return self._read()

    def _read(self) -> dict[str, Any]:
        assert self.process is not None
        assert self.process.stdout is not None
        assert self.errors is not None
        line = self.process.stdout.readline()
        if line.endswith("\n"):
            found: dict[str, Any] = json.loads(line)
            return found
        code = self.process.wait()
        self.errors.seek(0)
        last = self.errors.read().decode(errors="replace").strip().splitlines()[-1:]
        self.stop()
        return {"error": ": ".join([f"the process died with exit code {code}", *last])}


def fingerprint(sides: dict[str, Side]) -> str:
    """What results belong to: the states of both checkouts and of what is measured, samplers and settings."""
    measure = environments.state(environments.ROOT, environments.MEASURE)
    parts = [measure, *(f"{name}: {side.words()}" for name, side in sides.items())]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def chosen(names: list[str], quick: bool, seeds: int | None) -> list[Pair]:
    """The pairs of a comparison; seeds vary slowest, so that one which is interrupted is still balanced."""

    def count(family: Family) -> int:
        return seeds or (min(QUICK_SEEDS, family.seeds - 2) if quick else family.seeds)

    pairs = []
    for seed in range(max(count(FAMILIES[name]) for name in names)):
        for name in names:
            family = FAMILIES[name]
            trials = family.checkpoints[family.quick if quick else -1]
            pairs += [Pair(name, p, seed, trials) for p in family.problems if seed < count(family)]
    return pairs


def finished(rows: list[dict[str, Any]]) -> dict[Pair, dict[str, dict[str, Any]]]:
    """The last row of each side, by pair."""
    found: dict[Pair, dict[str, dict[str, Any]]] = {}
    for row in rows:
        pair = Pair(row["family"], row["problem"], row["seed"], row["trials"])
        found.setdefault(pair, {})[row["side"]] = row
    return found


def measure(
    sides: dict[str, Side], pairs: list[Pair], jobs: int, record: Callable[[dict[str, Any]], None], title: str
) -> list[dict[str, Any]]:
    """Run all pairs, ``jobs`` at a time; what the processes of a slot say of themselves, by side.

    ``record`` gets a row for each run, under a lock.
    """
    todo: queue.SimpleQueue[Pair] = queue.SimpleQueue()
    for pair in pairs:
        todo.put(pair)
    lock = threading.Lock()
    bar = tqdm(total=len(pairs), desc=title, unit="pair")
    slots = [{name: Worker(side) for name, side in sides.items()} for _ in range(jobs)]
    stopping = threading.Event()
    problems: list[BaseException] = []

    def serve(slot: dict[str, Worker]) -> None:
        while not stopping.is_set():
            try:
                pair = todo.get_nowait()
            except queue.Empty:
                return
            turn = list(FAMILIES[pair.family].problems).index(pair.problem) + pair.seed
            order = SIDES if turn % 2 == 0 else SIDES[::-1]
            rows = [vars(pair) | {"side": name, "first": name == order[0]} | slot[name].run(pair) for name in order]
            with lock:
                for row in rows:
                    if "error" in row and not stopping.is_set():
                        tqdm.write(f"{pair}, {row['side']}: {row['error']}", file=sys.stderr)
                    if not stopping.is_set():
                        record(row)
                bar.update()

    def guarded(slot: dict[str, Worker]) -> None:
        try:
            serve(slot)
        except BaseException as error:
            problems.append(error)
            stopping.set()

    threads = [threading.Thread(target=guarded, args=(slot,), daemon=True) for slot in slots]
    try:
        for worker in slots[0].values():  # compiles what all others find in the cache; ends what cannot work at all
            worker.start()
        hellos = [worker.hello for worker in slots[0].values()]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        stopping.set()
        for slot in slots:
            for worker in slot.values():
                worker.stop()
        bar.close()
    if problems:
        raise problems[0]
    return hellos


def compare(
    results: Path,
    name: str,
    clone: Path,
    names: list[str],
    *,
    quick: bool = False,
    seeds: int | None = None,
    jobs: int | None = None,
    sampler: str = "GSSBO",
    settings: dict[str, dict[str, Any]] | None = None,
) -> None:
    """Run what is missing, and write the table."""
    settings = settings or {}
    clone = clone.resolve()
    places = {"before": (clone, environments.interpreter(clone)), "now": (environments.ROOT, Path(sys.executable))}
    sides = {
        side: Side(python, root, environments.state(root, environments.PACKAGE), sampler, settings.get(side, {}))
        for side, (root, python) in places.items()
    }
    key = fingerprint(sides)
    pairs = chosen(names, quick, seeds)
    path = results / f"compare-{name}.jsonl"
    known = finished([row for row in load(path) if row.get("fingerprint") == key])
    done = {p for p, rows in known.items() if len(rows) == 2 and not any("error" in row for row in rows.values())}
    todo = [pair for pair in pairs if pair not in done]
    path.parent.mkdir(parents=True, exist_ok=True)
    differences = ""
    if todo:
        with path.open("a") as file:

            def record(row: dict[str, Any]) -> None:
                file.write(json.dumps({"fingerprint": key} | row) + "\n")
                file.flush()

            try:
                before, now = measure(sides, todo, jobs or os.cpu_count() or 1, record, path.stem)
            except RuntimeError as error:
                raise SystemExit(f"compare: {error}") from error
        differences = _differences(before, now)
        if differences:
            print(f"Mind that versions differ: {differences}.", file=sys.stderr)
    found = finished([row for row in load(path) if row.get("fingerprint") == key])
    rows = {pair: found[pair] for pair in pairs if pair in found}
    write_report(path.with_suffix(".md"), {name: side.words() for name, side in sides.items()}, rows, differences)


def _differences(before: dict[str, Any], now: dict[str, Any]) -> str:
    """Which packages have other versions on the two sides."""
    both = [{"Python": hello["python"]} | hello["versions"] for hello in (before, now)]
    return ", ".join(f"{n} {both[0][n]} and {both[1][n]}" for n in both[1] if both[0][n] != both[1][n])


def _checkout(text: str) -> Path:
    path = Path(text)
    if not (path / "pyproject.toml").is_file():
        raise argparse.ArgumentTypeError(f"must be a checkout of numbo; got {text!r}, without a pyproject.toml")
    return path


def _seeds(text: str) -> int:
    if int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1; got {text}")
    return int(text)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "before", type=_checkout, metavar="BEFORE", help="the other checkout of numbo, a clone of its own"
    )
    parser.add_argument("--name", help="results go to benchmarks/results/compare-NAME.md; the folder's name by default")
    add_names(parser, "--families", "family", FAMILIES)
    parser.add_argument("--seeds", type=_seeds, help="four by default, three of the long family")
    parser.add_argument("--quick", action="store_true", help="two seeds, and runs of a third of the length")
    parser.add_argument("--jobs", type=int, help="pairs of runs at once; one for each core by default")
    parser.add_argument("--sampler", default="GSSBO", help="GSSBO, BBKB, ...: numbo.optuna.<SAMPLER>Sampler")
    for side in SIDES[::-1]:
        parser.add_argument(f"--settings-{side}", type=json.loads, default={}, metavar="JSON", help="of the sampler")


def main(arguments: argparse.Namespace) -> None:
    a = arguments
    settings = {"now": a.settings_now, "before": a.settings_before}
    shape = {"quick": a.quick, "seeds": a.seeds, "jobs": a.jobs, "sampler": a.sampler, "settings": settings}
    compare(RESULTS, a.name or a.before.resolve().name, a.before, a.families, **shape)
