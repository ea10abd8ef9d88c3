"""Answers questions in the process of a worker (worker.js): one object for each line of stdin."""

import json
import sys
import time


def answer_lines(answer):
    """An error is the answer `skipped`."""
    print("{}", flush=True)
    for line in sys.stdin:
        try:
            reply = answer(json.loads(line))
        except (RuntimeError, TypeError, NotImplementedError) as error:
            reply = {"skipped": f"{type(error).__name__}: {str(error).splitlines()[0]}"}
        print(json.dumps(reply), flush=True)


def milliseconds_of(compute, seconds=0.25):
    """Mean milliseconds of processor time of a call in about `seconds`, after one more call."""
    compute()
    start, count = time.process_time(), 0
    while count == 0 or time.process_time() - start < seconds:
        compute()
        count += 1
    return (time.process_time() - start) * 1e3 / count
