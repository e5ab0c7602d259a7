"""The main job, end to end: transfers between banks, while the processes that carry them out are killed."""
