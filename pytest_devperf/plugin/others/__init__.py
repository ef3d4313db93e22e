"""Write cases into the reports of others: annotations of GitHub Actions, and the page of pytest-html."""
