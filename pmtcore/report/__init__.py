"""What people read: sentences, the report, figures."""
