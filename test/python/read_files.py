"""Runs statements that read the files of an export into `runs`, and prints what each found as JSON.

The argument is a JSON object: statements, a list of texts of Python.
"""

import json
import sys


def found(runs):
    if hasattr(runs, "collect"):
        runs = runs.collect()
    if hasattr(runs, "to_pylist"):
        rows = runs.to_pylist()
    elif hasattr(runs, "to_dicts"):
        rows = runs.to_dicts()
    else:
        rows = runs.astype(object).where(runs.notna(), None).to_dict("records")
    names = ["id", "name", "inputs"]
    return sorted(([row[name] for name in names] for row in rows), key=str)


def run(statement):
    scope = {}
    exec(statement, scope)
    return found(scope["runs"])


print(json.dumps([run(statement) for statement in json.loads(sys.argv[1])["statements"]]))
