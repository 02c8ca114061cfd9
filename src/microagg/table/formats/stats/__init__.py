"""Files of statistics packages: SPSS, Stata and SAS."""

from microagg.table.formats.stats.files import Stats as Stats
