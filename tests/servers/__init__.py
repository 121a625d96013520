"""Real servers on loopback, started by the tests themselves: S3 (s3proxy) and PostgreSQL (pgserver)."""
