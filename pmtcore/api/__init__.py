"""The face for notebooks and scripts, `import pmtcore as sm`: estimators and functions over frames and files."""
