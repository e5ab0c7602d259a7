"""The ports over SQLite, in memory or in a file: what DynamoDB, SQS, S3, the scheduler and the bus are on AWS."""
