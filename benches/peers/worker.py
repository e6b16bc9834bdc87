"""One peer in a separate process: answers each line of JSON on stdin with a line of JSON on stdout."""

import importlib
import json
import sys
import time
from datetime import date, timedelta

import pyarrow as pa
from measures import Question
from tables import STAGES

EPOCH = date(1970, 1, 1)


def rows(result, question):
    """Yields each row of an answer as a pair: the start of its sub-range and its dimension values as texts, and its measures by name."""
    for row in result.to_pylist() if isinstance(result, pa.Table) else result:
        key = []
        if question.is_split:
            sub = row["sub"]
            # chDB returns days as numbers.
            sub = EPOCH + timedelta(days=sub) if isinstance(sub, int) else sub
            key.append(max(str(sub)[:10], question.start))
        for name in question.dimensions:
            value = row[name]
            if name == "date" and isinstance(value, int):
                value = EPOCH + timedelta(days=value)
            if name == "adjustedType":
                value = STAGES[value]
            key.append(value.decode() if isinstance(value, bytes) else "" if value is None else str(value))
        yield [key, {name: int(row[name] or 0) for name in question.measures}]


def main(module, dataset, folder, threads):
    """Loads the tables of the peer `peer_<module>`, reports its version and formulations, and answers questions until stdin ends."""
    Peer = importlib.import_module("peer_" + module).Peer
    begun = time.perf_counter()
    peer = Peer(dataset, folder, int(threads))
    seconds = time.perf_counter() - begun
    answer = {"version": Peer.version, "formulations": Peer.FORMULATIONS, "seconds": seconds}
    print(json.dumps(answer), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        question = Question(request["question"])
        try:
            begun = time.perf_counter()
            result = peer.run(question, request["temperature"], request["formulation"])
            answer = {"milliseconds": (time.perf_counter() - begun) * 1e3}
            if request.get("rows"):
                answer["rows"] = list(rows(result, question))
        # A panic of an engine written in Rust is not an `Exception`.
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt):
                raise
            answer = {"failed": f"{type(error).__name__}: {error}".split("\n")[0][:300]}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
