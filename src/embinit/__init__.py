"""Tests that train: does a published finding about embedding initialisation hold, here and now?"""

__version__ = "0.1.0"
