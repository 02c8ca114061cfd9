"""What is promised: the release, its promises, how it goes out."""
