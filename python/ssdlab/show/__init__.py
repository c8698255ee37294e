"""What people read: tables, progress, figures, reports."""
