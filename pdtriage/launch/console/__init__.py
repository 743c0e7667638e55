"""What the launcher prints, in the words people know from Paddle's launchers."""
