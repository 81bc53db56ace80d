import ast
import os
import unittest
from typing import Iterator

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def sources() -> Iterator[str]:
    for folder, _, files in os.walk(ROOT):
        yield from (os.path.join(folder, name) for name in files if name.endswith(".py"))


class SourcesTest(unittest.TestCase):
    def test_every_source_is_python_3_8_with_lines_of_at_most_120_columns(self) -> None:
        for path in sources():
            with open(path, encoding="utf-8") as file:
                text = file.read()
            with self.subTest(path):
                ast.parse(text, feature_version=(3, 8))
                self.assertEqual([line for line in text.splitlines() if len(line) > 120 or line != line.rstrip()], [])

    def test_every_function_of_the_package_has_type_hints(self) -> None:
        for path in sources():
            with open(path, encoding="utf-8") as file:
                tree = ast.parse(file.read())
            for node in ast.walk(tree):
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    names = [a.arg for a in node.args.args + node.args.kwonlyargs if a.annotation is None]
                    with self.subTest("%s:%d" % (path, node.lineno)):
                        self.assertTrue(set(names) <= {"self", "cls"} and node.returns is not None, names)


if __name__ == "__main__":
    unittest.main()
