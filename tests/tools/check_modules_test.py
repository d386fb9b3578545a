"""The module order is checked as docs/tour.md states it."""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools"))
from check_modules import ORDER, check_text, check_tree, problem  # noqa: E402


class CheckModules(unittest.TestCase):
    def test_every_module_may_include_itself_and_what_is_before_it(self):
        for i, module in enumerate(ORDER):
            for other in ORDER[:i + 1]:
                if (module, other) != ("model", "memory"):
                    self.assertIsNone(problem(module, other + "/x.h"), (module, other))

    def test_no_module_may_include_what_is_after_it(self):
        for i, module in enumerate(ORDER):
            for other in ORDER[i + 1:]:
                self.assertIn("stands after", problem(module, other + "/x.h"))

    def test_model_sees_only_specs_and_views_of_memory(self):
        self.assertIsNone(problem("model", "memory/state_spec.h"))
        self.assertIsNone(problem("model", "memory/views.h"))
        self.assertIn("sees only", problem("model", "memory/memory.h"))
        self.assertIsNone(problem("engine", "memory/memory.h"))

    def test_a_path_that_does_not_start_with_a_module_is_refused(self):
        self.assertIn("write the path from src/", problem("base", "status.h"))
        self.assertIn("write the path from src/", problem("base", "../base/status.h"))

    def test_lines_are_numbered_and_only_quoted_includes_count(self):
        text = '#include <vector>\n// #include "cli/x.h"\n#  include "base/status.h"\n#include "engine/step.h"\n'
        self.assertEqual([n for n, _ in check_text("memory", text)], [4])

    def test_a_tree_with_a_violation_and_an_unknown_folder_is_reported(self):
        with tempfile.TemporaryDirectory() as source:
            for path, text in (("gguf/a.h", '#include "model/b.h"\n'), ("base/b.cpp", "#include <map>\n"), ("odd/c.h", "")):
                os.makedirs(os.path.dirname(os.path.join(source, path)), exist_ok=True)
                with open(os.path.join(source, path), "w") as f:
                    f.write(text)
            found = check_tree(source)
            self.assertEqual(len(found), 2)
            self.assertIn("a.h:1:", found[0])
            self.assertIn("odd is not a module", found[1])


if __name__ == "__main__":
    unittest.main()
