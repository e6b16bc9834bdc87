"""docs/tools.md: its code runs, and the requests that it has other tools send are answered."""

from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
import sys
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import REPOSITORY

# The address on the page, in place of which the service has a free port.
ADDRESS = "http://127.0.0.1:8080"

# What only Google Sheets has. It ends with the cells that the script writes.
SHEETS = """
const headers = (all) => Object.entries(all).flatMap(([name, value]) => ["-H", `${name}: ${value}`]);
const curl = (url, all) => require("child_process").execFileSync("curl", ["-sSf", "--compressed", ...headers(all), url]);
const PropertiesService = { getScriptProperties: () => ({ getProperty: (name) => process.env[name] }) };
const UrlFetchApp = { fetch: (url, options) => ({ getContentText: () => curl(url, options.headers).toString() }) };
const Utilities = { parseCsv: (text) => text.trimEnd().split("\\n").map((line) => line.split(",")) };
const range = (...place) => ({ setValues: (cells) => console.log(JSON.stringify({ place, cells })) });
const SpreadsheetApp = { getActive: () => ({ getSheetByName: () => ({ clearContents: () => {}, getRange: range }) }) };
"""


@pytest.fixture(scope="module")
def service(program: str, demo_folder: Path) -> Iterator[tuple[str, str]]:
    """The address of a service of the demo, and a key."""
    create = [program, "keys", "create", demo_folder, "demo@example.com"]
    key = subprocess.run(create, check=True, capture_output=True, text=True).stdout.strip()
    serve = [program, "serve", demo_folder, "--listen", "127.0.0.1:0"]
    process = subprocess.Popen(serve, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        yield next(found[0] for line in process.stderr if (found := re.search(r"http://[\d.:]+", line))), key
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)


def blocks(language: str, address: str) -> list[str]:
    """The blocks of a language, which ask the service at `address`."""
    page = (REPOSITORY / "docs" / "tools.md").read_text()
    found = re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert found, language
    return [block.replace(ADDRESS, address) for block in found]


def answer(url: str, **headers: str) -> bytes:
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=60) as response:
        body: bytes = response.read()
        return body


def test_the_code_of_the_page_runs(service: tuple[str, str], tmp_path: Path) -> None:
    address, key = service
    environment = {**os.environ, "TRUEUP_KEY": key, "no_proxy": "*"}

    def run(*command: str) -> str:
        ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert ran.returncode == 0, f"{command}\n{ran.stderr}"
        return ran.stdout

    for block in blocks("sh", address):
        assert run("sh", "-ec", block) == ""
    header, *rows = csv.reader((tmp_path / "leads.csv").read_text().splitlines())
    assert header == ["attributionChannel", "leads", "spend"] and len(rows) > 5
    for block in blocks("python", address):
        assert "Paid Search" in run(sys.executable, "-c", block)
    (script,) = blocks("js", address)
    written = json.loads(run("node", "-e", f"{SHEETS}{script}refreshLeads();"))
    assert written["cells"][0] == ["account", "leads", "spend"]
    assert written["place"] == [1, 1, len(written["cells"]), 3]


def test_the_requests_of_power_query_and_grafana_are_answered(service: tuple[str, str]) -> None:
    address, key = service
    (script,) = blocks("powerquery", address)
    base, path = re.findall(r'Web\.Contents\("(.*?)".*?RelativePath = "(.*?)"', script, re.DOTALL)[0]
    query = dict(re.findall(r'(\w+) = "(.*?)"', script.split("Query = [")[1].split("]")[0]))
    assert "Headers = [Authorization = Key, Accept = \"text/csv\"]" in script
    text = answer(f"{base}/{path}?{urllib.parse.urlencode(query)}", Authorization=key, Accept="text/csv").decode()
    header, *rows = csv.reader(text.splitlines())
    assert header == ["start", "end", *query["fields"].split(",")] and len(rows) > 5
    assert set(re.findall(r'{"(\w+)", ', script)) == set(header) - {"attributionChannel"}

    (source,), (panel,) = blocks("yaml", address), blocks("grafana", address)
    assert "apiKeyKey: Authorization" in source and f'["{address}"]' in source
    url = re.sub(r"\$\{__from:.*?\}", "2026-04-01", panel.strip())
    url = re.sub(r"\$\{__to:.*?\}", "2026-06-29", url)
    # The plugin's own headers for its two types of queries.
    days = json.loads(answer(url, Authorization=key, Accept="application/json;q=0.9,text/plain"))
    assert len(days) == 90 and days[0].keys() == {"start", "end", "leads", "spend"}
    lines = answer(url, Authorization=key, Accept="text/csv; charset=utf-8").decode().splitlines()
    assert lines[0] == "start,end,leads,spend" and len(lines) == 91
