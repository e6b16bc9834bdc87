#!/usr/bin/env python3
"""Compares trueup with DuckDB, Polars, DataFusion and chDB on one dataset; README.md explains how."""

import argparse
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import time
import venv

import measures

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PEERS = ["duckdb", "polars", "datafusion", "chdb"]
TEMPERATURES = ["hot", "cold", "precomputed"]

# A peer that is this many times slower than the fastest when answers are checked is timed in fewer rounds.
SLOW, SLOW_ROUNDS = 4, 2


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000, help="size of the dataset to make: about EVENTS events")
    parser.add_argument("--accounts", type=int, default=200)
    parser.add_argument("--seed", type=int, default=2024)
    parser.add_argument("--dataset", help="use this dataset, instead of making one")
    parser.add_argument("--program", help="use this program, instead of building one")
    parser.add_argument("--work", default=os.path.join(ROOT, "target", "peers"), help="folder for the environment, datasets and tables")
    parser.add_argument("--peers", type=lambda text: text.split(","), default=PEERS)
    parser.add_argument("--query", action="append", help="run only this query; repeat the option for several")
    parser.add_argument("--only", type=lambda text: text.split(","), default=TEMPERATURES, help="which of hot, cold and precomputed, separated by commas")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--json", help="also write all figures to this file")
    return parser.parse_args()


def enter_environment(work):
    """Runs the script in a virtual environment with the peers; creates the environment if it does not exist."""
    folder = os.path.join(work, "venv")
    python = os.path.join(folder, "bin", "python")
    if os.path.realpath(sys.prefix) == os.path.realpath(folder):
        return
    requirements = os.path.join(HERE, "requirements.txt")
    stamp = os.path.join(folder, "requirements.txt")
    wanted = open(requirements).read()
    if not os.path.exists(stamp) or open(stamp).read() != wanted:
        venv.create(folder, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "-r", requirements], check=True)
        with open(stamp, "w") as file:
            file.write(wanted)
    os.execv(python, [python, os.path.abspath(sys.argv[0]), *sys.argv[1:]])


def build_program():
    """Builds the program as it is shipped, and returns its path."""
    subprocess.run(["cargo", "build", "--profile", "dist", "--locked", "-p", "trueup-cli"], cwd=ROOT, check=True)
    target = os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target"))
    return os.path.join(target, "dist", "trueup")


def make_dataset(program, options):
    """Returns the folder of the demo with these options; makes the demo if it does not exist."""
    folder = os.path.join(options.work, f"data-{options.events}-{options.accounts}-{options.seed}")
    if not os.path.exists(folder):
        counts = ["--events", str(options.events), "--accounts", str(options.accounts), "--seed", str(options.seed), "--until", "2026-06-30"]
        subprocess.run([program, "demo", folder, *counts], check=True, stdout=subprocess.DEVNULL)
    return folder


class Process:
    """A program that answers each line with a line."""

    def __init__(self, command, environment=None):
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, cwd=HERE
        )

    def cpu(self):
        """Returns the processor time that the program has used so far, in milliseconds. Other load on the machine hardly changes it."""
        # The number of the clock of another process, as `clock_getcpuclockid` computes it from the id.
        return time.clock_gettime(~self.process.pid << 3 | 2) * 1e3

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            raise EOFError(f"ended with {self.process.wait()}")
        return json.loads(line)

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.read()


class Trueup:
    """The program trueup, which answers the questions of its suite and times them."""

    def __init__(self, program, dataset, threads):
        command = [program, "bench", dataset, "--on-request", "--threads", str(threads)]
        self.process = Process(command)

    def ask(self, name, what):
        return self.process.ask(f"{name} {what}")

    def time(self, name, temperature):
        """Returns the milliseconds by the clock, and those of processor time of all cores."""
        before = self.process.cpu()
        time = self.ask(name, "cold" if temperature == "cold" else "hot")["milliseconds"]
        return time, self.process.cpu() - before


class Peer:
    """A peer in a separate process, `worker.py`, which is started again if it ends."""

    def __init__(self, name, command):
        self.name, self.command, self.failures, self.wrong = name, command, {}, 0
        self.start()

    def start(self):
        # Polars takes the number of its threads from the environment.
        self.process = Process(self.command, os.environ | {"POLARS_MAX_THREADS": self.command[-1]})
        greeting = self.process.read()
        self.version, self.formulations = greeting["version"], greeting["formulations"]
        say(f"{self.name} {self.version}: tables loaded in {greeting['seconds']:.1f} s")

    def time(self, question, temperature, formulation):
        """Returns the milliseconds by the clock, and those of processor time of all cores."""
        before = self.process.cpu()
        time = self.ask(question, temperature, formulation).get("milliseconds", math.inf)
        return time, self.process.cpu() - before

    def ask(self, question, temperature, formulation, rows=False):
        request = {"question": question, "temperature": temperature, "formulation": formulation, "rows": rows}
        try:
            return self.process.ask(json.dumps(request))
        except (EOFError, BrokenPipeError) as error:
            say(f"{self.name} is started again: {error}")
            self.start()
            return {"failed": f"the process {error}"}


def say(text):
    """Reports progress on stderr; stdout has only the tables."""
    print(text, file=sys.stderr, flush=True)


def differences(question, expected, found):
    """Returns how a peer's rows differ from trueup's, a line for each difference; empty if they are equal."""
    shown = (["start"] if question.is_split else []) + question.dimensions
    by_key = {}
    for key, measured in found:
        if tuple(key) in by_key:
            return [f"{key} twice"]
        by_key[tuple(key)] = measured
    wrong = []
    for row in expected:
        measured = by_key.pop(tuple(row[name] for name in shown), None)
        if measured is None:
            wrong.append(f"no row for {row}")
            continue
        for name in question.metrics:
            value = measures.value(name, measured)
            if value != row[name]:
                wrong.append(f"{name}: {value!r} instead of {row[name]!r} for {[row[name] for name in shown]}")
    keeping = ("rows", "adSpend", "managementFee", "clicks", "impressions")
    for key, measured in by_key.items():
        # trueup leaves out a row without events whose amounts, clicks and impressions are all 0.
        if not question.needs_spend or any(measured[name] for name in keeping):
            wrong.append(f"a row too many: {key} {measured}")
    return wrong


def choose_formulations(trueup, peers, questions, temperature):
    """Checks the answers of every peer to every formulation of every question. Returns for each question and peer the time and the
    name of the fastest formulation whose answer is right."""
    best = {}
    for described in questions:
        question = measures.Question(described)
        expected = trueup.ask(question.name, "answer")["rows"]
        described["rows"] = len(expected)
        for peer in peers:
            what = (question.name, peer.name)
            shown = f"{question.name} {peer.name} {temperature}"
            for formulation in peer.formulations[temperature]:
                answer = peer.ask(described, temperature, formulation, rows=True)
                if "failed" in answer:
                    say(f"{shown} {formulation}: {answer['failed']}")
                    peer.failures[question.name, temperature] = "failed"
                    continue
                found = differences(question, expected, answer["rows"])
                for line in found[:3]:
                    say(f"{shown} {formulation}: {line}")
                if found:
                    peer.wrong += 1
                    peer.failures[question.name, temperature] = "another answer"
                    continue
                time = answer["milliseconds"]
                if what not in best or time < 2 * best[what][0]:
                    # The first formulation may have warmed caches for the later ones.
                    time = min(time, peer.time(described, temperature, formulation)[0])
                if what not in best or time < best[what][0]:
                    best[what] = (time, formulation)
            if what in best:
                say(f"{shown}: equal; {best[what][1]}, {best[what][0]:.1f} ms")
    return best


def time_questions(trueup, peers, questions, temperature, best, rounds):
    """Yields the figures of each question: medians of timings in turns (trueup, a peer, trueup, the next peer, and so on)."""
    for described in questions:
        name = described["name"]
        able = [peer for peer in peers if (name, peer.name) in best]
        if not able:
            continue
        least = min(best[name, peer.name][0] for peer in able)
        ours, theirs = [], {peer.name: [] for peer in able}
        trueup.time(name, temperature)
        for done in range(rounds):
            for peer in able:
                time, formulation = best[name, peer.name]
                if done >= SLOW_ROUNDS and time > SLOW * least:
                    continue
                ours.append(trueup.time(name, temperature))
                theirs[peer.name].append(peer.time(described, temperature, formulation))
        median = lambda times, which: statistics.median(time[which] for time in times)
        medians = {peer: median(times, 0) for peer, times in theirs.items()}
        cpu = {peer: median(times, 1) for peer, times in theirs.items()}
        figure = {
            "query": name,
            "rows": described["rows"],
            "temperature": temperature,
            "trueup": median(ours, 0),
            "trueupCpu": median(ours, 1),
            "peers": medians,
            "peersCpu": cpu,
            "formulations": {peer: best[name, peer][1] for peer in medians},
            "best": min(medians, key=medians.get),
            "ratio": min(medians.values()) / median(ours, 0),
            "cpuRatio": min(cpu.values()) / median(ours, 1),
        }
        say(f"{name} {temperature}: {figure['trueup']:.2f} ms; {figure['best']} {min(medians.values()):.1f} ms; "
            f"{figure['ratio']:.1f}x, {figure['cpuRatio']:.1f}x of all cores")
        yield figure


def milliseconds(time):
    return f"{time:,.0f}" if time >= 100 else f"{time:.3g}"


def report(figures, peers, temperature):
    """Yields a table in Markdown, and the means of the ratios."""
    names = [peer.name for peer in peers]
    yield f"\n**{temperature}** (medians in ms)\n"
    yield "| query | rows | trueup | " + " | ".join(names) + " | best peer / trueup | of all cores |"
    yield "|---|---:|---:|" + "---:|" * len(names) + "---:|---:|"
    for figure in figures:
        cells = [figure["query"], f"{figure['rows']:,}", milliseconds(figure["trueup"])]
        for peer in peers:
            time = figure["peers"].get(peer.name)
            cells.append(peer.failures[figure["query"], temperature] if time is None else milliseconds(time))
        yield f"| {' | '.join(cells)} | {figure['ratio']:,.1f} | {figure['cpuRatio']:,.1f} |"
    for ratio, what in (("ratio", "By the clock"), ("cpuRatio", "Of all cores")):
        worst = min(figures, key=lambda figure: figure[ratio])
        mean = math.exp(statistics.mean(math.log(figure[ratio]) for figure in figures))
        yield f"\n{what}: geometric mean {mean:.1f}x, worst {worst[ratio]:.1f}x ({worst['query']})."


def machine(options, events):
    """Returns what the figures depend on: data, machine, threads and commit."""
    model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if "model name" in line), platform.processor())
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout.strip()
    return f"{events:,} events, seed {options.seed}; {model}, {os.cpu_count()} cores, {options.threads} threads; trueup at {commit}"


def main():
    options = arguments()
    options.work = os.path.abspath(options.work)
    enter_environment(options.work)
    import tables

    program = os.path.abspath(options.program) if options.program else build_program()
    dataset = os.path.abspath(options.dataset) if options.dataset else make_dataset(program, options)
    folder = os.path.join(options.work, tables.folder_name(dataset))
    begun = time.time()
    # In a separate process, whose end frees the memory.
    subprocess.run([sys.executable, tables.__file__, dataset, folder], check=True)
    say(f"tables for the peers made in {time.time() - begun:.0f} s")
    trueup = Trueup(program, dataset, options.threads)
    names = json.loads(subprocess.run([program, "bench", dataset, "--repeat", "1", "--format", "json"], check=True, capture_output=True).stdout)
    questions = [trueup.ask(query["name"], "question") for query in names["queries"]]
    if options.query:
        questions = [question for question in questions if question["name"] in options.query]
    command = lambda peer: [sys.executable, os.path.join(HERE, "worker.py"), peer, dataset, folder, str(options.threads)]
    peers = [Peer(name, command(name)) for name in options.peers]
    print(machine(options, names["events"]))
    print("peers: " + ", ".join(f"{peer.name} {peer.version}" for peer in peers))
    figures = []
    for temperature in options.only:
        best = choose_formulations(trueup, peers, questions, temperature)
        shown = list(time_questions(trueup, peers, questions, temperature, best, options.rounds))
        if shown:
            print("\n".join(report(shown, peers, temperature)), flush=True)
        figures += shown
    if options.json:
        with open(options.json, "w") as file:
            json.dump(figures, file, indent=1)
    wrong = sum(peer.wrong for peer in peers)
    if wrong:
        sys.exit(f"{wrong} answers differ from trueup's")


if __name__ == "__main__":
    main()
