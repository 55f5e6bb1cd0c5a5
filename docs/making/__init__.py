"""What makes the site: blocks of pages that are run, pages that are written from the code, and the staging of both."""
