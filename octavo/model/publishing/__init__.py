"""Rules of published links and of reports of them."""
