# SPDX-License-Identifier: MIT
"""Prints the results as the other tests of the suite do: "ok NAME", "not ok NAME: why", "skip NAME: why"."""
import sys

import pytest


def _write(line):
    sys.__stdout__.write(line.replace("\n", " | ") + "\n")
    sys.__stdout__.flush()


@pytest.hookimpl(trylast=True)
def pytest_runtest_logreport(report):
    name = report.nodeid.split("::")[-1].replace("test_", "", 1)
    name = name.replace("[", "_").replace("]", "")
    if report.skipped:
        _write(f"skip {name}: {report.longrepr[2].replace('Skipped: ', '', 1)}")
    elif report.failed:
        crash = getattr(report.longrepr, "reprcrash", None)
        _write(f"not ok {name}: {report.when}: {crash or report.longrepr}")
        for line in report.longreprtext.splitlines()[-25:]:
            _write(f"# {line}")
    elif report.when == "call":
        _write(f"ok {name}")


def pytest_collectreport(report):
    if report.failed:
        _write(f"not ok collection: {report.longreprtext[-600:]}")


def pytest_report_teststatus(report):
    return report.outcome, "", ""  # instead of dots
