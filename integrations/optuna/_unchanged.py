"""Storages that are opened to be read only, so that no file is made or changed."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from optuna.storages import BaseStorage, JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend

SQLITE = b"SQLite format 3\0"
SQLITE_URL = re.compile(r"sqlite(?:\+\w+)?:///(?P<uri>file:)?(?P<path>[^?]*)")


class _Unchanged(JournalFileBackend):
    """A journal that is only read."""

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        raise RuntimeError("The journal is opened to be read only.")


def file_of(storage: str) -> Path | None:
    """The file of a storage, which may be missing; None for a database on a server.

    Args:
        storage: the URL of a database, or the path of an SQLite file or of a journal.
    """
    url = SQLITE_URL.match(storage)
    if url is None:
        return None if "://" in storage else Path(storage)
    return Path(unquote(url["path"]) if url["uri"] else url["path"])


def unchanged(storage: str) -> BaseStorage:
    """The storage of `file_of`, opened so that files are not changed.

    Raises:
        FileNotFoundError: if there is no such file.
        Exception: of Optuna, SQLAlchemy or a driver, if it is no storage.
    """
    path = file_of(storage)
    if path is None:
        return RDBStorage(storage, skip_table_creation=True)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {str(path)!r}")
    if "://" in storage or _begins(path, SQLITE):
        # where no one here can write beside the file, which its WAL mode does even to read
        fixed = not os.access(path.parent, os.W_OK) and not Path(f"{path}-wal").exists()
        how = "mode=ro&immutable=1" if fixed else "mode=ro"
        return RDBStorage(f"sqlite:///file:{quote(str(path.resolve()))}?{how}&uri=true", skip_table_creation=True)
    return JournalStorage(_Unchanged(str(path)))


def _begins(path: Path, mark: bytes) -> bool:
    with path.open("rb") as file:
        return file.read(len(mark)) == mark
