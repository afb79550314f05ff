"""The face for notebooks and scripts, `import pmtcore as pc`: estimators and functions over frames and files."""
