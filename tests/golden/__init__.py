"""What Candor writes and shows, frozen before the code is moved about, and compared afterwards."""
