"""Files of statistics packages: SPSS (.sav, .zsav), Stata (.dta) and SAS (.sas7bdat, .xpt)."""

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from microagg.base.progress import Advance, silent
from microagg.base.reading import Reading
from microagg.table.formats.format import Format, Loaded, Typed
from microagg.table.formats.stats import files
from microagg.table.formats.stats.layout import SUFFIXES, Layout, mask_of_missing, without_codes


@dataclass(frozen=True)
class Stats(Format):
    """Files of SPSS, Stata and SAS, which declare codes for missing values."""

    name = "stats"
    suffixes = SUFFIXES
    only_read: ClassVar = {".sas7bdat": ".xpt, .sav or .dta"}

    def read(
        self, address: str | Path, reading: Reading, typed: Typed = None, advance: Advance = silent
    ) -> Loaded:
        """Read a file (see `files.read`)."""
        return files.read(Path(address), reading, advance)

    def write(self, table: pa.Table, path: Path, layout: Layout | None) -> None:
        """Write a file (see `files.write`)."""
        files.write(table, path, layout)

    def declared_missing(
        self, array: pa.Array, name: str, layout: Layout
    ) -> NDArray[np.bool_] | None:
        """Where a column holds codes that its file declares to be missing values."""
        return mask_of_missing(array, layout, name)

    def keeps(self, path: Path, layout: Layout) -> bool:
        """Codes mean something only to the package that declared them."""
        return self.suffixes[path.suffix.lower()] == layout.kind

    def for_others(self, table: pa.Table, reading: Reading, layout: Layout) -> pa.Table:
        """The table with codes for missing values as plain ones."""
        return without_codes(table, layout)
