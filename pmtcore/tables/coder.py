"""From blocks of cells to blocks of rows: the only place where private rows become numbers.

``Coder.rows`` encodes each row of a block by itself: a row with a gap is treated by the chosen policy, and no row is
refused. A row that lacks a value becomes a row of zeros, so that n does not change.
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
    """Encoded rows of a block.

    Attributes:
        x: features (k, d).
        y: responses (k,).
        complete: whether each row (k,) has all values; otherwise it is zeros.
        weights: weights (k,) of the losses; ``None`` where there are none, or rows were multiplied by their roots.
    """

    x: np.ndarray
    y: np.ndarray
    complete: np.ndarray
    weights: np.ndarray | None = None

    @property
    def response(self) -> np.ndarray:
        """Return responses (k,), or responses and weights (k, 2), as :class:`PrivateRows` has them."""
        return self.y if self.weights is None else np.column_stack([self.y, self.weights])

    def __repr__(self) -> str:
        return f"<{len(self.y)} rows>"


@dataclass(frozen=True)
class Weights:
    """Weights of rows (proofs/results.md, 4 and 6).

    Attributes:
        names: columns whose product is the weight of a row.
        mean: mean of the public weights, by which all weights are divided, so that they have mean about 1.
        exposure: the column among them by which counts are divided; empty for none.
        in_rows: whether rows are multiplied by the root of their weights, for least squares; otherwise weights multiply
            the losses.
    """

    names: tuple[str, ...]
    mean: float = 1.0
    exposure: str = ""
    in_rows: bool = True

    def values(self, block: Cells, decimal: str | None) -> np.ndarray:
        """Return the weights (k,); NaN where one is missing or negative."""
        product = np.ones(block.rows)
        for name in self.names:
            values = Column(name).read(block.columns[name], decimal)
            product = product * np.where(values >= 0, values, np.nan)
        return np.asarray(product / self.mean)

    def rates(self, y: np.ndarray, block: Cells, decimal: str | None) -> np.ndarray:
        """Return counts (k,) per unit of exposure; unchanged without an exposure."""
        if not self.exposure:
            return y
        exposure = Column(self.exposure).read(block.columns[self.exposure], decimal)
        return np.asarray(y / np.where(exposure > 0, exposure, np.nan))


@dataclass(frozen=True)
class Coder:
    """Public rules for a whole row.

    Attributes:
        features: rules for the features.
        choices: of the user.
        target: rule for the response.
        decimal: decimal mark of the table that is read.
        used_columns: positions of the design's columns that are used; ``None``: all.
        weights: of the rows of a fit; ``None`` for equal weights and for new rows.
        expected: coefficients (d,) of the public fit, where covariates are public. A row without a response then gets
            its prediction, so that a missing response changes nothing but the response.
    """

    features: tuple[Feature, ...]
    choices: Choices
    target: Coding
    decimal: str | None = "."
    used_columns: tuple[int, ...] | None = None
    weights: Weights | None = None
    expected: tuple[float, ...] | None = None

    @property
    def all_names(self) -> tuple[str, ...]:
        """Return the names of the design's columns, those left out included."""
        names = tuple(name for feature in self.features for name in feature.names)
        return (INTERCEPT, *names) if self.choices.intercept else names

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the design's columns."""
        names = self.all_names
        return names if self.used_columns is None else tuple(names[j] for j in self.used_columns)

    @property
    def reads_numbers_alone(self) -> bool:
        """Return whether every column is read as numbers: there are no dates, levels or labels."""
        return self.numbers.issuperset(self.columns(weighted=False))

    @property
    def numbers(self) -> frozenset[str]:
        """Return the columns that are read only as numbers."""
        kinds = [(feature.name, feature.column.kind) for feature in self.features]
        kinds.append((self.target.name, self.target.kind if self.target.positive is None else "level"))
        weights = () if self.weights is None else self.weights.names
        others = {name for name, kind in kinds if kind != "number"}
        return frozenset([*(name for name, _ in kinds), *weights]) - others

    @property
    def has_loss_weights(self) -> bool:
        """Return whether the loss of each row has a weight."""
        return self.weights is not None and not self.weights.in_rows

    def columns(self, labelled: bool = True, weighted: bool = True) -> tuple[str, ...]:
        """Return the columns of the table that are read."""
        features = [feature.name for feature in self.features]
        weights = self.weights.names if weighted and self.weights is not None else ()
        return tuple(dict.fromkeys([*features, *([self.target.name] if labelled else []), *weights]))

    def rows(self, block: Cells, labelled: bool = True, weighted: bool = True) -> EncodedRows:
        """Return the rows of a block as numbers, each encoded by itself.

        For least squares a row and its response are multiplied by the root of the weight; otherwise weights are
        returned and multiply the losses.

        Args:
            block: cells of the columns that are read.
            labelled: whether the response is read; otherwise it is 0.
            weighted: whether weights and exposures are applied.
        """
        x = np.empty((len(self.all_names), block.rows)).T  # stored by columns, as cells are
        y = np.zeros(block.rows)
        x[:, 0], start = 1.0, int(self.choices.intercept)
        if labelled:
            y, _ = self.target.encode(block.columns[self.target.name], self.decimal)
        for feature in self.features:
            columns, gaps = feature.encode(block.columns[feature.name], self.decimal)
            if self.choices.missing == "public-median":
                columns = feature.without_gaps(columns, gaps)
            x[:, start : start + columns.shape[1]] = columns
            start += columns.shape[1]
        if self.used_columns is not None:
            x = x[:, list(self.used_columns)]
        weights = None
        if weighted and self.weights is not None:
            with np.errstate(all="ignore"):  # an overflow is not finite, so the row becomes zeros
                weights = self.weights.values(block, self.decimal)
                y = self.weights.rates(y, block, self.decimal)
                if self.weights.in_rows:
                    root_weights = np.sqrt(weights)
                    x, y, weights = x * root_weights[:, None], y * root_weights, None
        if self.expected is not None and labelled:
            y = np.where(np.isfinite(y), y, _predicted(x, self.expected))
        complete = np.isfinite(y) & np.all(np.isfinite(x), axis=1)
        if weights is not None:
            complete &= np.isfinite(weights)
            weights[~complete] = 0.0
        if not np.all(complete):
            x[~complete], y[~complete] = 0.0, 0.0
        return EncodedRows(x, y, complete, weights)

    def columns_to_leave_out(self, block: Cells) -> list[str]:
        """Return the fewest columns, by decreasing number of gaps, without which enough public rows are complete.

        At least twice as many complete rows as remaining columns are enough. Empty where no choice gives as many.
        """
        masks = {f.name: f.encode(block.columns[f.name], self.decimal)[1].missing for f in self.features}
        widths = {feature.name: len(feature.names) for feature in self.features}
        by_gaps = sorted(masks, key=lambda name: -int(masks[name].sum()))
        for count in range(1, len(by_gaps)):
            remaining = by_gaps[count:]
            complete = ~np.any([masks[name] for name in remaining], axis=0)
            if int(complete.sum()) >= 2 * (1 + sum(widths[name] for name in remaining)):
                return by_gaps[:count]
        return []

    def unfilled_columns(self, block: Cells, labelled: bool = True) -> list[str]:
        """Return columns whose gaps are not filled by medians, and occur: the response, and unknown categories."""
        without_other_level = [feature for feature in self.features if feature.other_level is None]
        gaps = {f.name: f.encode(block.columns[f.name], self.decimal)[1].unseen for f in without_other_level}
        if labelled:
            _, gaps_of_response = self.target.encode(block.columns[self.target.name], self.decimal)
            gaps[self.target.name] = gaps_of_response.missing | gaps_of_response.unseen
        return [name for name in self.columns(labelled) if name in gaps and np.any(gaps[name])]

    def check(self, blocks: Iterable[Cells], role: str, labelled: bool = True) -> None:
        """Check that there are no gaps that a strict policy refuses.

        For a private table the answer depends on its rows without noise, outside the guarantee.

        Raises:
            InputError: there are; its facts name public columns.
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
            raise InputError(TableMessage.UNKNOWN_LEVELS, columns=self._ordered(unseen), table=role)
        if self.choices.missing == "refuse" and missing:
            raise InputError(TableMessage.MISSING_VALUES, table=role, columns=self._ordered(missing))

    def _ordered(self, names: set[str]) -> list[str]:
        """Return these names in the order of the columns."""
        return [name for name in self.columns() if name in names]


def _predicted(x: np.ndarray, coefficients: tuple[float, ...]) -> np.ndarray:
    """Return the predictors ``x'beta`` (k,), 0 where one is not finite; columns are added in order."""
    total = np.zeros(len(x))
    with np.errstate(all="ignore"):
        for column, coefficient in zip(x.T, coefficients, strict=True):
            total += coefficient * column
    return np.where(np.isfinite(total), total, 0.0)


def check_width(coder: Coder) -> None:
    """Check the number of columns of a design and the lengths of their names.

    Raises:
        InputError: too many columns, or a public name that is too long.
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
    """Return the function that yields the blocks of a pass, for :class:`pmtcore.base.private_rows.PrivateRows`.

    Nothing is read before the first pass. If the table is text in memory and the numbers fit (which depends on the
    numbers of rows and columns), the first pass caches them for the next ones.

    Args:
        source: of the table.
        coder: rules for its rows.
        dialect: of its text.
        n: number of rows.
        parsed: numbers of all rows that another pass may have stored; a pass that gets them reads nothing.
        people: persons, whose numbers become the last column of the features; ``None``: no such column.
    """
    names = coder.columns() if people is None else tuple(dict.fromkeys([*coder.columns(), people.column]))
    keep = source.in_memory and n * (len(coder.names) + 1) * 8 <= KEPT_BYTES
    cached_blocks: list[Block] = []
    numeric_source = reading_numbers(source, coder.numbers)

    def blocks() -> Iterator[Block]:
        if cached_blocks:
            yield from cached_blocks
            return
        new_blocks: list[Block] = []
        parsed_blocks = None if parsed is None else parsed.pop()
        source_blocks = numeric_source.blocks(names, dialect) if parsed_blocks is None else parsed_blocks
        for block in threads.in_order(
            (partial(_block, coder, cells, people) for cells in source_blocks), threads.reader_threads()
        ):
            if keep:
                new_blocks.append(block)
            yield block
        # Replaced, not extended: if two first passes run at once, each row still counts once.
        cached_blocks[:] = new_blocks

    return blocks


def _block(coder: Coder, cells: Cells, people: Persons | None) -> Block:
    """Return features and responses of a block; with persons, their numbers are the last column of the features."""
    rows = coder.rows(cells)
    if people is None:
        return rows.x, rows.response
    x = np.empty((rows.x.shape[1] + 1, cells.rows)).T
    x[:, :-1], x[:, -1] = rows.x, people.of(cells.columns[people.column])
    return x, rows.response
