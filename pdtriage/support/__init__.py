"""What Python lacks for us and every room needs: both languages, exit codes, the cache."""
