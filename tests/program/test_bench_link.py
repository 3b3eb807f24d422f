#!/usr/bin/env python3
"""`fairlead bench link` runs, and what it counts makes sense. No time is judged here.

Usage: test_bench_link.py FAIRLEAD
"""
import json
import subprocess
import sys

HEADERS = 28  # UDP and IPv4
CLIENTS = 4


def run(program, *arguments):
    return subprocess.run([program, "bench", *arguments], capture_output=True, text=True, timeout=100)


def check_relay(row):
    """Bytes can be reckoned: a tick's messages for one client fit into one packet."""
    others = CLIENTS - 1
    message = row["message_bytes"]
    wire = row["wire_bytes"]
    assert row["clients"] == CLIENTS
    assert row["corrupt"] == 0, row
    assert row["delivered"] > 100, row
    assert row["lost"] <= row["delivered"] // 10, row  # a busy machine may drop some
    # At least the message and its part of the headers; at most 60 bytes of our own per packet, and
    # four times that where ticks and clients fell out of step.
    assert wire >= message + HEADERS / others - 1, row
    assert wire <= message + 4 * (HEADERS + 60) / others, row
    assert row["us"] > 0 and row["ratio"] > 0, row


def main():
    program = sys.argv[1]
    done = run(program, "link", "--clients", str(CLIENTS), "--seconds", "0.5", "--rounds", "1", "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["bench"] == "link"
    relay = result["relay"]
    names = {row["name"] for row in relay}
    assert {"Fairlead, sealed", "Fairlead sessions"} <= names
    assert len(names) == 3 or "without ENet" in result["note"]
    assert {row["contest"] for row in relay} == {"opaque messages", "motion updates"}
    for row in relay:
        check_relay(row)
    contests = {row["contest"] for row in result["rows"]}
    assert contests == {"64 bytes one way", "sealing alone"}, contests
    assert all(row["ns"] > 0 for row in result["rows"])

    text = run(program, "--help")
    assert text.returncode == 0 and "--clients" in text.stdout
    for bad in (["link", "--clients", "1"], ["link", "--clients", "2.5"], ["nothing"],
                ["link", "--rounds", "0"], ["link", "--clients", "2,2,2,2,2,2,2,2,2"]):
        done = run(program, *bad)
        assert done.returncode == 2 and done.stderr.count("\n") == 1, (bad, done)
    print("bench link: ok")


if __name__ == "__main__":
    main()
