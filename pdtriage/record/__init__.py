"""What a launch leaves about itself: the run record, and what nodes tell of their ranks."""
