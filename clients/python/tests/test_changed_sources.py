import importlib
import os
import sys
import tempfile
import unittest

from waybill.sources import Sources


class ChangedSourcesTest(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.directory = temporary.name
        self.path = os.path.join(os.path.realpath(self.directory), "waybill_changing.py")
        sys.path.insert(0, self.directory)
        self.addCleanup(sys.path.remove, self.directory)
        self.addCleanup(sys.modules.pop, "waybill_changing", None)

    def write(self, text: str, seconds: int) -> None:
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(text)
        os.utime(self.path, (seconds, seconds))

    def load(self) -> None:
        importlib.invalidate_caches()
        importlib.import_module("waybill_changing")

    def test_a_change_of_an_imported_module_is_found(self) -> None:
        self.write("one = 1", 1000)
        sources = Sources([self.directory])
        self.load()
        self.assertIsNone(sources.changed())
        self.write("two = 2", 2000)
        self.assertEqual(sources.changed(), self.path)

    def test_a_module_that_changed_before_the_first_look_at_it_counts_as_changed(self) -> None:
        sources = Sources([self.directory])
        self.write("one = 1", 1 << 32)
        self.load()
        self.assertEqual(sources.changed(), self.path)

    def test_a_file_that_is_gone_and_modules_from_elsewhere_do_not_count(self) -> None:
        self.write("one = 1", 1000)
        self.load()
        elsewhere = Sources([os.path.join(self.directory, "elsewhere")])
        sources = Sources([self.directory])
        self.assertIsNone(sources.changed())
        self.write("two = 2", 2000)
        self.assertIsNone(elsewhere.changed())
        os.remove(self.path)
        self.assertIsNone(sources.changed())


if __name__ == "__main__":
    unittest.main()
