"""A pretend worker that never reads what it is asked."""

import time

if __name__ == "__main__":
    time.sleep(600)
