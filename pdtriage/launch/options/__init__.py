"""What a launch was asked for: flags, variables, and what is refused."""
