"""Where a release is made: in memory, on disk or on Spark, cell by cell as the plan says."""
