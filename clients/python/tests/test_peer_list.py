import importlib.util
import subprocess
import sys
import tempfile
import unittest

from tests import group
from tests.peer import kept

TORCH = importlib.util.find_spec("torch") is not None


class PeerListTest(unittest.TestCase):
    def test_nine_in_ten_of_the_peers_tests_are_listed_as_passed(self) -> None:
        tests = [one for one in kept.read() if one.theme in kept.THEMES]
        passed = [one for one in tests if one.status == "passed"]
        self.assertEqual(len(tests), 258)
        self.assertGreaterEqual(len(passed), 0.9 * len(tests))

    def test_no_test_is_listed_twice(self) -> None:
        tests = [one.test for one in kept.read()]
        self.assertEqual(len(tests), len(set(tests)))

    def test_refuses_a_line_without_a_reason(self) -> None:
        for line in ("T3 A.test differs", "T3 A.test passed why", "T3 A.test hopes", "T3 test passed"):
            with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file, self.subTest(line=line):
                file.write("# comment\n%s\n" % line)
                file.flush()
                with self.assertRaisesRegex(ValueError, ":2: expected"):
                    kept.read(file.name)

    @unittest.skipUnless(TORCH, "torch is not installed")
    def test_a_few_of_the_peers_tests_pass(self) -> None:
        names = ["RpcTest.test_py_tensors_in_container", "RpcTest.test_async_function_nested", "RpcTest.test_rref_str"]
        done = subprocess.run(
            [sys.executable, "-B", "-m", "tests.peer.run"] + names,
            cwd=group.ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            universal_newlines=True,
            timeout=group.LIMIT_SECONDS,
        )
        self.assertIn("2 passed, 0 failed, 1 differ, 0 can't apply", done.stdout)
        self.assertEqual(done.returncode, 0, done.stdout)


if __name__ == "__main__":
    unittest.main()
