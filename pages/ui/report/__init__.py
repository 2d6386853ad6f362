"""The Report page: runs and sections chosen, one file made of them."""
