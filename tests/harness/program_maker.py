"""Random define-by-run programs, each from a seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution

from tests.harness.programs import (
    MOST_PATHS,
    Ask,
    Block,
    Branch,
    Case,
    Fail,
    Loop,
    Program,
    Statement,
    asks,
    distinct,
    paths,
    statements,
)

EQUAL = [("a", "b", "a", "c", "d"), (1, 1.0, 2, 3), (0, False, 1, 2), ("a", "a", "a", "b", "c"), ("x", "y", "y")]
SAMPLERS = ("GSSBO", "GSSBO", "GSSBO", "GPUCB", "BKB", "BBKB")


class Maker:
    """Makes a program from a seed."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.rng = np.random.default_rng((seed, 0))
        self.count = 0

    def chance(self, p: float) -> bool:
        return bool(self.rng.random() < p)

    def one_of(self, options: Sequence[Any]) -> Any:
        return options[int(self.rng.integers(len(options)))]

    def name(self, kind: str) -> str:
        self.count += 1
        return f"{kind}{self.count}"

    def best(self) -> float:
        return round(float(self.rng.uniform(0.1, 0.9)), 2)

    def leaf(self, kind: str | None = None) -> Ask:
        kind = kind or self.one_of(["float", "log", "step", "int", "int log", "categories"])
        found: dict[str, tuple[str, BaseDistribution]] = {
            "float": ("x", FloatDistribution(0.0, 1.0)),
            "log": ("rate", FloatDistribution(1e-5, 1.0, log=True)),
            "step": ("s", FloatDistribution(-1.0, 1.0, step=0.1)),
            "int": ("n", IntDistribution(1, 12)),
            "int log": ("width", IntDistribution(1, 256, log=True)),
            "categories": ("c", CategoricalDistribution(["u", "v", "w"])),
            "small": ("k", IntDistribution(1, 3)),
        }
        name, distribution = found[kind]
        return Ask(self.name(name), distribution, self.best())

    def constant(self) -> Ask:
        found = [FloatDistribution(2.0, 2.0), IntDistribution(3, 3), CategoricalDistribution(["only"])]
        return Ask(self.name("one"), self.one_of(found), 0.5)

    def structure(self, most: int, depth: int, kind: str) -> tuple[Statement, int]:
        """A branch or a loop with up to ``most`` paths, and how many it has."""
        if kind == "loop":
            times = Ask(self.name("layers"), IntDistribution(1, min(3, most)), self.best())
            return Loop(times, self.leaf(self.one_of(["float", "int", "int log"]))), min(3, most)
        cases: list[Case]
        if kind == "threshold":
            on = self.leaf(self.one_of(["float", "log"]))
            at = on.at(round(float(self.rng.uniform(0.35, 0.65)), 2))
            cases = [Case((), up_to=at), Case((), above=at)]
        elif kind == "int":
            on = Ask(self.name("m"), IntDistribution(1, 4), self.best())
            cases = [Case((), among=(1, 2)), Case((), among=(3,)), Case((), among=(4,))][: max(2, most)]
            if len(cases) == 2 or most < 3:
                cases = [Case((), among=(1, 2)), Case((), among=(3, 4))]
        else:
            equal = [c for c in EQUAL if len(distinct(c)) <= most]
            choices = self.one_of(equal) if kind == "equal" and equal else ("p", "q", "r", "s")[: min(most, 4)]
            choices = choices[: int(self.rng.integers(2, 5))] if kind == "category" else choices
            on = Ask(self.name("model"), CategoricalDistribution(choices), self.best())
            cases = [Case((), among=(value,)) for value in distinct(choices)]
        left = most - len(cases)
        out = []
        count = len(cases)
        for case in cases:
            block: list[Statement] = [self.leaf() for _ in range(int(self.rng.integers(0, 3)))]
            if depth < 2 and left >= 1 and self.chance(0.5):
                inner, more = self.structure(left + 1, depth + 1, self.one_of(["category", "int", "threshold", "loop"]))
                block.append(inner)
                left -= more - 1
                count += more - 1
            out.append(replace(case, block=tuple(block)))
        return Branch(on, tuple(out)), count

    def program(self) -> Program:
        rng = self.rng
        fails = self.one_of(["", "", "branch", "branch", "region"])
        share = self.one_of(["", "", "same", "ranges"])
        declared = self.one_of(["right", "lacking", "extra", "narrower", "wider", "unconditional"])
        declared = declared if self.chance(0.15) and not share else ""
        equal = self.chance(0.15)
        kind = "equal" if equal else self.one_of(["category", "category", "int", "threshold", "loop"])
        if kind == "loop" and (fails == "branch" or share):
            kind = "category"
        only_discrete = self.chance(0.15)
        head: list[Statement] = []
        for _ in range(int(rng.integers(1, 3))):
            head.append(self.leaf(self.one_of(["small", "categories", "int"]) if only_discrete else None))
        if declared or fails == "region":
            head[0] = self.leaf("float")
        if self.chance(0.1):
            head.append(self.constant())
        main, _ = self.structure(MOST_PATHS, 0, kind)
        if isinstance(main, Branch):
            main = self.shared(main, share)
            if fails == "branch":
                main = self.failing(main)
        if fails == "region":
            assert isinstance(head[0], Ask)
            fail = Fail(self.chance(0.5), head[0], self.one_of([0.6, 0.8]))
            head.append(fail)
        if self.chance(0.3) and isinstance(head[0], Ask):  # what all trials have is not always asked first
            block: Block = (head[0], main, *head[1:])
        else:
            block = (*head, main)
        block = self.once(block)
        return self.options(block, declared, bool(fails))

    def once(self, block: Block) -> Block:
        """A failure of a region comes after the parameter that it depends on."""
        fails = [s for s in block if isinstance(s, Fail)]
        rest = [s for s in block if not isinstance(s, Fail)]
        return (rest[0], *fails, *rest[1:])

    def shared(self, branch: Branch, share: str) -> Branch:
        """With a parameter that two or more cases ask for, of the same range or of others."""
        if not share:
            return branch
        ask = self.leaf(self.one_of(["float", "log", "int"]))
        k = int(self.rng.integers(2, len(branch.cases) + 1))
        among = self.rng.permutation(len(branch.cases))[:k]
        cases = list(branch.cases)
        for place, i in enumerate(among):
            one = ask if share == "same" or place == 0 else replace(ask, distribution=shifted(ask.distribution))
            cases[i] = replace(cases[i], block=(one, *cases[i].block))
        return replace(branch, cases=tuple(cases))

    def failing(self, branch: Branch) -> Branch:
        """With a case that always fails."""
        i = int(self.rng.integers(len(branch.cases)))
        case = branch.cases[i]
        late = self.chance(0.6)
        block = (*case.block, Fail(True)) if late else (Fail(False), *case.block)
        if not late and case.block and self.chance(0.5):  # between its parameters
            block = (case.block[0], Fail(False), *case.block[1:])
        return replace(branch, cases=(*branch.cases[:i], replace(case, block=block), *branch.cases[i + 1 :]))

    def second(self, block: Block) -> Block:
        """What is asked for on the second day."""
        kind = self.one_of(["new", "range", "choices", "removed"])
        free = [s for s in block if isinstance(s, Ask) and not isinstance(s.distribution, CategoricalDistribution)]
        free = [s for s in free if not s.distribution.single()]
        tied = {f.on.name for f in statements(block) if isinstance(f, Fail) and f.on is not None}
        free = [s for s in free if s.name not in tied]
        branch = next((s for s in block if isinstance(s, Branch)), None)
        if kind == "choices" and branch is not None and isinstance(branch.on.distribution, CategoricalDistribution):
            choices = (*branch.on.distribution.choices, "new")
            on = replace(branch.on, name=f"{branch.on.name}_new", distribution=CategoricalDistribution(choices))
            other = Branch(on, (*branch.cases, Case((self.leaf(),), among=("new",))))
            return tuple(other if s is branch else s for s in block)
        if kind == "range" and free:
            changed = replace(free[0], distribution=shifted(free[0].distribution))
            return tuple(changed if s is free[0] else s for s in block)
        if kind == "removed" and free and len([s for s in block if isinstance(s, Ask)]) > 1:
            return tuple(s for s in block if s is not free[0])
        return (*block, self.leaf())

    def options(self, block: Block, declared: str, fails: bool) -> Program:
        """The program with this block, and how it is run."""
        by_sampler = self.one_of(SAMPLERS)
        reports = self.chance(0.25)
        steps = self.one_of([(0, 1, 2), (1, 5, 6, 40), (3, 0, 7, 2)]) if reports else ()
        random = self.one_of([0.1, 0.3]) if self.chance(0.12) else 0.0
        every = list(asks(block))
        top = [s.on if isinstance(s, Branch) else s for s in block if isinstance(s, Ask | Branch)]
        one = self.one_of(top)
        fixed: tuple[tuple[str, Any], ...] = ((one.name, one.at(float(self.rng.random()))),)
        ways = [path for path in paths(block, dict(fixed)) if not path.fails]
        tied = any(isinstance(s, Fail) and s.on is not None and s.on.name == one.name for s in block)
        if tied or not ways or self.chance(0.9):  # what is fixed leaves a way that does not fail
            fixed = ()
        enqueued: list[tuple[tuple[str, Any], ...]] = []
        if self.chance(0.2):
            for _ in range(3):
                some = [every[i] for i in self.rng.permutation(len(every))[: int(self.rng.integers(1, 4))]]
                enqueued.append(tuple(sorted({a.name: a.at(float(self.rng.random())) for a in some}.items())))
        workers = self.one_of([2, 4, 10]) if self.chance(0.25) else 1
        return Program(
            seed=self.seed,
            block=block,
            second=self.second(block) if self.chance(0.15) and not declared else None,
            ending=self.one_of(["raise", "raise", "nan", "prune"]),
            random=random,
            random_at=self.one_of(["late", "early", "between"]) if random else "late",
            steps=steps,
            nan_at=1 if steps and self.chance(0.3) else None,
            pruning=self.one_of(["", "hand", "median", "curve"]) if steps else "",
            noise=0.1 if self.chance(0.2) else 0.0,
            retry=self.one_of(["copy", "callback", "enqueue"]) if (fails or random) and self.chance(0.35) else "",
            enqueued=tuple(enqueued),
            workers=workers,
            rolling=workers > 1 and self.chance(0.5),
            fixed=fixed,
            limit=self.one_of(["early", "late"]) if self.chance(0.12) and by_sampler in ("GSSBO", "GPUCB") else "",
            whole_seconds=self.chance(0.15),
            declared=declared,
            sampler=by_sampler,
        )


def shifted(distribution: BaseDistribution) -> BaseDistribution:
    """A range of the same kind that overlaps the old one, and goes beyond it."""
    d: Any = distribution
    if isinstance(d, FloatDistribution):
        return (
            FloatDistribution(d.low * 10, d.high * 10, log=True) if d.log else FloatDistribution(0.5, 2.0, step=d.step)
        )
    return IntDistribution(d.low + 2, d.high + 8, log=d.log)


def make(seed: int) -> Program:
    """The program of a seed."""
    return Maker(seed).program()
