"""The switch between tests that try a sample and tests that try everything, as in the tests of the crates."""

import os


def cases(all_cases: int) -> int:
    """How many random cases a test tries: a fifth, or all with `TRUEUP_EXHAUSTIVE=1` in the environment."""
    return all_cases if os.environ.get("TRUEUP_EXHAUSTIVE") == "1" else -(-all_cases // 5)
