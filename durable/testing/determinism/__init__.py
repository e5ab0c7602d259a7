"""Whether workflows are deterministic: what a run recorded is replayed at another time, in a copy of the process."""
