# For runner_test.py: runs to its end without a single check.
scenario() { true; }
