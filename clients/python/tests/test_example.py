"""Runs the example of the book."""

import importlib.util
import os
import re
import subprocess
import sys
import unittest

from tests import group

EXAMPLE = os.path.join(group.ROOT, "..", "..", "examples", "python-training", "train.py")
TORCH = importlib.util.find_spec("torch") is not None


class ExampleTest(unittest.TestCase):
    def run_example(self) -> "subprocess.CompletedProcess[str]":
        with group.router() as environment:
            return subprocess.run(
                [sys.executable, "-B", EXAMPLE],
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                universal_newlines=True,
                timeout=group.LIMIT_SECONDS,
            )

    @unittest.skipUnless(TORCH, "torch is not installed")
    def test_three_processes_train_a_model(self) -> None:
        done = self.run_example()
        losses = re.search(r"^loss before: (\S+), after 60 rounds: (\S+)$", done.stdout, re.MULTILINE)
        self.assertEqual(done.returncode, 0, done.stdout)
        assert losses is not None, done.stdout
        self.assertLess(float(losses.group(2)), 0.7 * float(losses.group(1)))

    @unittest.skipIf(TORCH, "torch is installed")
    def test_it_says_what_it_needs(self) -> None:
        done = self.run_example()
        self.assertEqual(done.returncode, 1)
        self.assertIn("train.py needs torch", done.stdout)


if __name__ == "__main__":
    unittest.main()
