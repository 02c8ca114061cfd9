"""Large data: cells first, then groups in each; fewer dimensions, then groups in those."""
