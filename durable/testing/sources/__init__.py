"""What stands in for Lambda's event sources: queues, streams, schedules."""
