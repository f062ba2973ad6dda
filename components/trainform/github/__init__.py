"""A review as comments on a pull request of GitHub: found again, updated in place, and never by an older run."""
