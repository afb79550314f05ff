"""What all other packages import: messages and checks, private values and rows, results, numerical helpers."""
