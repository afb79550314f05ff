"""What people read: words, errata, the report, the figures."""
