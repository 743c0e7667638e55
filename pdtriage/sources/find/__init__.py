"""From the paths a user names to the logs worth reading."""
