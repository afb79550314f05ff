"""From blocks of cells to blocks of rows: the one function through which every private row becomes numbers.

``Coder.rows`` sees a block, and works on each of its rows by itself: a row with a gap follows the stated policy,
and no row is ever refused. A row without a value counts as a row of zeros, so that n stays what it was.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from pmtcore.base import threads
from pmtcore.base.block_sums import Block
from pmtcore.base.messages import InputError, TableMessage
from pmtcore.public.moments import INTERCEPT
from pmtcore.tables.choices import Choices
from pmtcore.tables.dialect import Dialect
from pmtcore.tables.features import Coding, Feature
from pmtcore.tables.limits import KEPT_BYTES, MAX_FEATURES, MAX_NAME
from pmtcore.tables.parsed import ParsedNumbers
from pmtcore.tables.persons import Persons
from pmtcore.tables.schema import Column
from pmtcore.tables.sources import Cells, Source, reading_numbers


@dataclass(frozen=True, eq=False)
class EncodedRows:
    """Rows (k, d) with their responses (k,). ``complete`` says which have every value; the others are zeros.

    Attributes:
        weights: of the loss (k,), where the weights of rows are no part of the rows.
    """

    x: np.ndarray
    y: np.ndarray
    complete: np.ndarray
    weights: np.ndarray | None = None

    @property
    def response(self) -> np.ndarray:
        """Return responses (k,), or (k, 2) with the weights beside them: what :class:`PrivateRows` hands out."""
        return self.y if self.weights is None else np.column_stack([self.y, self.weights])

    def __repr__(self) -> str:
        return f"<{len(self.y)} rows>"


@dataclass(frozen=True)
class Weights:
    """Weights of rows (proofs/results.md, 4 and 6).

    Attributes:
        names: of the columns whose product is the weight of a row.
        mean: of the public weights, by which all are divided, so that n and the residual scale keep their meaning.
        exposure: the one of them by which counts are divided; empty for none.
        in_rows: whether a row is multiplied by the root of its weight, as least squares needs it; else its loss is
            multiplied by the weight.
    """

    names: tuple[str, ...]
    mean: float = 1.0
    exposure: str = ""
    in_rows: bool = True

    def values(self, block: Cells, decimal: str | None) -> np.ndarray:
        """Return the weights (k,); NaN where there is none, or a negative one."""
        product = np.ones(block.rows)
        for name in self.names:
            values = Column(name).read(block.columns[name], decimal)
            product = product * np.where(values >= 0, values, np.nan)
        return np.asarray(product / self.mean)

    def rates(self, y: np.ndarray, block: Cells, decimal: str | None) -> np.ndarray:
        """Return counts (k,) for a unit of exposure; as they are where there is none."""
        if not self.exposure:
            return y
        exposure = Column(self.exposure).read(block.columns[self.exposure], decimal)
        return np.asarray(y / np.where(exposure > 0, exposure, np.nan))


@dataclass(frozen=True)
class Coder:
    """Public rules for a whole row.

    Attributes:
        decimal: decimal mark of the table that is read.
        used: places of the design's columns that are used; ``None``: all.
        weights: of the rows of a fit; new rows that are predicted have none.
        expected: coefficients (d,) of the public fit, where covariates are public: a row without a response counts with
            its prediction, so that whether a row has one changes nothing but its response.
    """

    features: tuple[Feature, ...]
    choices: Choices
    target: Coding
    decimal: str | None = "."
    used: tuple[int, ...] | None = None
    weights: Weights | None = None
    expected: tuple[float, ...] | None = None

    @property
    def all_names(self) -> tuple[str, ...]:
        """Return names of the design's columns before any was left out."""
        every = tuple(name for feature in self.features for name in feature.names)
        return (INTERCEPT, *every) if self.choices.intercept else every

    @property
    def names(self) -> tuple[str, ...]:
        """Return names of the design's columns."""
        every = self.all_names
        return every if self.used is None else tuple(every[j] for j in self.used)

    @property
    def reads_numbers_alone(self) -> bool:
        """Return True where every column is read as numbers: no dates, no levels, no labels."""
        return self.numbers.issuperset(self.columns(weighted=False))

    @property
    def numbers(self) -> frozenset[str]:
        """Return the columns that are read as numbers, and as nothing else."""
        kinds = [(feature.name, feature.column.kind) for feature in self.features]
        kinds.append((self.target.name, self.target.kind if self.target.positive is None else "level"))
        weights = () if self.weights is None else self.weights.names
        others = {name for name, kind in kinds if kind != "number"}
        return frozenset([*(name for name, _ in kinds), *weights]) - others

    @property
    def has_loss_weights(self) -> bool:
        """Return whether rows have a weight of their loss beside the response."""
        return self.weights is not None and not self.weights.in_rows

    def columns(self, labelled: bool = True, weighted: bool = True) -> tuple[str, ...]:
        """Return the columns of the table that are read."""
        names = [feature.name for feature in self.features]
        beside = self.weights.names if weighted and self.weights is not None else ()
        return tuple(dict.fromkeys([*names, *([self.target.name] if labelled else []), *beside]))

    def rows(self, block: Cells, labelled: bool = True, weighted: bool = True) -> EncodedRows:
        """Return the rows of a block as numbers, each decided by itself.

        For least squares a row and its response are multiplied by the root of the weight; otherwise weights stand
        beside the responses and multiply the losses.

        Args:
            block: cells of the columns that are read.
            labelled: whether the response is read; otherwise it is 0.
            weighted: whether weights and exposures are applied.
        """
        x = np.empty((len(self.all_names), block.rows)).T  # by columns, as the cells come
        y = np.zeros(block.rows)
        x[:, 0], at = 1.0, int(self.choices.intercept)
        if labelled:
            y, _ = self.target.encode(block.columns[self.target.name], self.decimal)
        for feature in self.features:
            part, gaps = feature.encode(block.columns[feature.name], self.decimal)
            if self.choices.missing == "public-median":
                part = feature.filled(part, gaps)
            x[:, at : at + part.shape[1]] = part
            at += part.shape[1]
        if self.used is not None:
            x = x[:, list(self.used)]
        weights = None
        if weighted and self.weights is not None:
            with np.errstate(all="ignore"):  # what overflows is not finite, and counts as an empty row
                weights = self.weights.values(block, self.decimal)
                y = self.weights.rates(y, block, self.decimal)
                if self.weights.in_rows:
                    roots = np.sqrt(weights)
                    x, y, weights = x * roots[:, None], y * roots, None
        if self.expected is not None and labelled:
            y = np.where(np.isfinite(y), y, _predicted(x, self.expected))
        finite = np.isfinite(y) & np.all(np.isfinite(x), axis=1)
        if weights is not None:
            finite &= np.isfinite(weights)
            weights[~finite] = 0.0
        if not np.all(finite):
            x[~finite], y[~finite] = 0.0, 0.0
        return EncodedRows(x, y, finite, weights)

    def columns_to_leave_out(self, block: Cells) -> list[str]:
        """Return the fewest columns, those with most gaps first, without which enough public rows have no gap.

        Enough rows are twice the number of columns that are left. Empty where no choice gives so many.
        """
        masks = {f.name: f.encode(block.columns[f.name], self.decimal)[1].missing for f in self.features}
        widths = {feature.name: len(feature.names) for feature in self.features}
        by_gaps = sorted(masks, key=lambda name: -int(masks[name].sum()))
        for last in range(1, len(by_gaps)):
            rest = by_gaps[last:]
            complete = ~np.any([masks[name] for name in rest], axis=0)
            if int(complete.sum()) >= 2 * (1 + sum(widths[name] for name in rest)):
                return by_gaps[:last]
        return []

    def unfilled(self, block: Cells, labelled: bool = True) -> list[str]:
        """Return columns for which a row is left out although gaps are filled: a response, or an unknown category."""
        without_other_level = [feature for feature in self.features if feature.other_level is None]
        gaps = {f.name: f.encode(block.columns[f.name], self.decimal)[1].unseen for f in without_other_level}
        if labelled:
            _, lacking = self.target.encode(block.columns[self.target.name], self.decimal)
            gaps[self.target.name] = lacking.missing | lacking.unseen
        return [name for name in self.columns(labelled) if name in gaps and np.any(gaps[name])]

    def check(self, blocks: Iterable[Cells], whose: str, labelled: bool = True) -> None:
        """Refuse gaps under the strict policies, naming columns that are public.

        Of a private table this is an answer about its rows that no noise protects: outside the guarantee.

        Raises:
            InputError: a gap that the policy refuses.
        """
        missing: set[str] = set()
        unseen: set[str] = set()
        parts: list[Feature | Coding] = [*self.features, self.target] if labelled else [*self.features]
        for block in blocks:
            for part in parts:
                _, gaps = part.encode(block.columns[part.name], self.decimal)
                missing |= {part.name} if np.any(gaps.missing) else set()
                unseen |= {part.name} if np.any(gaps.unseen) else set()
        if self.choices.unseen == "refuse" and unseen:
            raise InputError(TableMessage.UNKNOWN_LEVELS, columns=self._ordered(unseen), table=whose)
        if self.choices.missing == "refuse" and missing:
            raise InputError(TableMessage.MISSING_VALUES, table=whose, columns=self._ordered(missing))

    def _ordered(self, names: set[str]) -> list[str]:
        return [name for name in self.columns() if name in names]


def _predicted(x: np.ndarray, coefficients: tuple[float, ...]) -> np.ndarray:
    """Return ``x'beta`` (k,) of each row by itself, 0 where that is not finite."""
    total = np.zeros(len(x))
    with np.errstate(all="ignore"):
        for column, coefficient in zip(x.T, coefficients, strict=True):
            total += coefficient * column
    return np.where(np.isfinite(total), total, 0.0)


def check_width(coder: Coder) -> None:
    """Refuse a design that is too wide, or has names that no table heading shows.

    Raises:
        InputError: more columns than can be used, or a name of the public table that is too long.
    """
    count = len(coder.all_names)
    if count > MAX_FEATURES:
        raise InputError(TableMessage.TOO_MANY_FEATURES, count=count, limit=MAX_FEATURES)
    long = [name for name in (*coder.all_names, coder.target.name) if len(name) > MAX_NAME]
    if long:
        raise InputError(TableMessage.NAME_TOO_LONG, columns=long, count=len(long[0]), limit=MAX_NAME)


def row_blocks(
    source: Source,
    coder: Coder,
    dialect: Dialect,
    n: int,
    *,
    parsed: ParsedNumbers | None = None,
    people: Persons | None = None,
) -> Callable[[], Iterator[Block]]:
    """Return what :class:`pmtcore.base.private_rows.PrivateRows` calls once a pass.

    Nothing is read before the first pass. Of a table whose text lies in memory the first pass keeps the numbers for the
    next ones, where they fit (a public figure: rows times columns).

    Args:
        source: of the table.
        coder: how its rows become numbers.
        dialect: how its text is read.
        n: number of rows.
        parsed: where another pass may have left the numbers of all rows; a pass that finds them there reads nothing.
        people: whose numbers are a last column of the features; ``None``: there is none.
    """
    names = coder.columns() if people is None else tuple(dict.fromkeys([*coder.columns(), people.column]))
    keep = source.in_memory and n * (len(coder.names) + 1) * 8 <= KEPT_BYTES
    waiting: list[Block] = []
    numeric = reading_numbers(source, coder.numbers)

    def blocks() -> Iterator[Block]:
        if waiting:
            yield from waiting
            return
        fresh: list[Block] = []
        known = None if parsed is None else parsed.taken()
        read = numeric.blocks(names, dialect) if known is None else known
        for block in threads.in_order((partial(_block, coder, cells, people) for cells in read), threads.readers()):
            if keep:
                fresh.append(block)
            yield block
        # Never behind one another: two passes may be the first at a time, and each row counts once.
        waiting[:] = fresh

    return blocks


def _block(coder: Coder, cells: Cells, people: Persons | None) -> Block:
    """Return the features of a block, with the number of each row's person behind them, and the responses."""
    rows = coder.rows(cells)
    if people is None:
        return rows.x, rows.response
    x = np.empty((rows.x.shape[1] + 1, cells.rows)).T
    x[:, :-1], x[:, -1] = rows.x, people.of(cells.columns[people.column])
    return x, rows.response
