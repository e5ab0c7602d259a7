"""The durable operations, one a file: what each makes of its history, and what it asks of the driver."""
