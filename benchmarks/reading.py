"""Time to read a private CSV as rows, compared with pandas: ``python benchmarks/reading.py [ROWS [COLUMNS]]``.

CPU seconds, median of three in one process: pandas' own reading, the count of rows, and every cell through the schema.
"""

from __future__ import annotations

import io
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np
import pandas as pd

from pmtcore.tables.choices import Choices
from pmtcore.tables.problem import public_side
from pmtcore.tables.table import read_table, table_from


def seconds(work: Callable[[], object]) -> float:
    times = []
    for _ in range(3):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return statistics.median(times)


def main(rows: int = 1_000_000, columns: int = 10) -> None:
    rng = np.random.default_rng(0)
    names = [*(f"x{j}" for j in range(columns - 1)), "y"]
    public = table_from(pd.DataFrame(rng.normal(size=(columns * 10, columns)), columns=names), "public", "public")
    data = pd.DataFrame(rng.normal(size=(rows, columns)), columns=names).to_csv(index=False).encode()
    table = read_table(data, "private", "private", limit=2**40)
    side = public_side(table, public, Choices(target="y"))
    alone = seconds(lambda: pd.read_csv(io.BytesIO(data)))
    count = seconds(lambda: read_table(data, "private", "private", limit=2**40).n)
    read = seconds(lambda: side.read(table).sum(lambda x, y: np.zeros(1)))
    print(f"{rows:,} rows, {columns} columns, {len(data) / 1e6:.0f} MB")
    print(
        f"pandas {alone:.2f} s, count and digest {count:.2f} s, rows {read:.2f} s, ratio {(count + read) / alone:.2f}"
    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
