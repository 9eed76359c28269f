"""Hand-written questions on the documentation of software packages, as development data for the selector.

The repository holds the questions with offsets into named files. The texts come from the packages.
"""
