#!/usr/bin/python3
"""Puts a running server under load and says what happened.

    load.py stream URL [--connections 200] [--tokens 64]    all stream at once while /health is asked
    load.py churn URL [--requests 10000] [--at-once 64] [--pid PID]
                                                            random disconnects in every phase
    load.py hostile URL [--pid PID]                         huge headers and bodies, deep JSON, slow senders

URL as the server prints it: http://127.0.0.1:8080. With --pid: also its open files and resident memory, before and after.
Nothing but the standard library. The exit status is 1 when something that must hold does not.
"""
import argparse
import asyncio
import json
import multiprocessing
import os
import random
import sys
import time
import urllib.parse

failures = []


def check(holds, text):
    print(("ok    " if holds else "FAILS ") + text)
    if not holds:
        failures.append(text)


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


class Target:
    def __init__(self, url):
        parts = urllib.parse.urlsplit(url)
        self.host, self.port = parts.hostname, parts.port

    async def connect(self):
        return await asyncio.open_connection(self.host, self.port)

    def request(self, method, path, body=b"", headers=""):
        head = "%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n%s\r\n" % (
            method, path, len(body), headers)
        return head.encode() + body

    async def get(self, path):
        """(status, body, seconds) on a connection of its own."""
        start = time.monotonic()
        reader, writer = await self.connect()
        writer.write(self.request("GET", path, headers="Connection: close\r\n"))
        answer = await reader.read()
        writer.close()
        head, _, body = answer.partition(b"\r\n\r\n")
        return int(head.split()[1]), body.decode(), time.monotonic() - start

    async def metric(self, name):
        _, text, _ = await self.get("/metrics")
        return sum(float(line.rsplit(" ", 1)[1]) for line in text.splitlines()
                   if line.startswith(name) and line[len(name):len(name) + 1] in ("{", " "))


def process(pid):
    """(open files, resident KiB) of a process; None without a pid."""
    if not pid:
        return None
    with open("/proc/%d/statm" % pid, encoding="ascii") as f:
        resident = int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE") // 1024
    return len(os.listdir("/proc/%d/fd" % pid)), resident


def chat(tokens, text="Tell me a story."):
    return json.dumps({"messages": [{"role": "user", "content": text}], "stream": True, "max_tokens": tokens,
                       "ignore_eos": True}).encode()


async def wait_until_quiet(target):
    for _ in range(600):
        running = await target.metric("oxbow_num_requests_running") + await target.metric("oxbow_num_requests_waiting")
        if running == 0 and await target.metric("oxbow_http_connections") <= 1:
            return True
        await asyncio.sleep(0.05)
    return False


async def stream_one(target, tokens, number):
    start = time.monotonic()
    reader, writer = await target.connect()
    writer.write(target.request("POST", "/v1/chat/completions", chat(tokens, "Story %d, please." % number)))
    first, events, done = None, 0, False
    while True:
        line = await reader.readline()
        if line.startswith(b"data: "):
            events += 1
            first = first or time.monotonic() - start
            done = line.startswith(b"data: [DONE]")
        if done or not line:
            break
    writer.close()
    return done, events, first, time.monotonic() - start


def ask_health(url, stop, results):
    """In a process of its own, so that reading the streams does not count."""
    async def ask():
        target, seconds = Target(url), []
        while not stop.is_set():
            status, _, passed = await target.get("/health")
            seconds.append(passed if status == 200 else float("inf"))
            await asyncio.sleep(0.01)
        results.put(seconds)
    asyncio.run(ask())


async def stream(target, arguments):
    stop, results = multiprocessing.Event(), multiprocessing.Queue()
    asking = multiprocessing.Process(target=ask_health, args=(arguments.url, stop, results))
    asking.start()
    start = time.monotonic()
    answers = await asyncio.gather(*(stream_one(target, arguments.tokens, i) for i in range(arguments.connections)))
    seconds = time.monotonic() - start
    stop.set()
    health = results.get(timeout=10)
    asking.join()
    events = sum(a[1] for a in answers)
    print("%d streams, %d events in %.1f s (%.0f a second); first event: median %.2f s, last %.2f s" % (
        len(answers), events, seconds, events / seconds, percentile([a[2] for a in answers], 0.5),
        max(a[2] for a in answers)))
    print("/health: %d times, median %.1f ms, p99 %.1f ms, worst %.1f ms" % (
        len(health), percentile(health, 0.5) * 1e3, percentile(health, 0.99) * 1e3, max(health) * 1e3))
    check(all(a[0] for a in answers), "every stream ended with [DONE]")
    check(percentile(health, 0.99) < 0.05, "/health answers within 50 ms (p99)")


async def leave_somewhere(target, generator):
    try:
        reader, writer = await target.connect()
    except OSError:
        return
    body = chat(generator.randint(1, 24), "x" * generator.randint(1, 400))
    request = target.request("POST", "/v1/chat/completions", body)
    phase = generator.random()
    try:
        if phase < 0.2:
            writer.write(request[:generator.randint(0, len(request) - 1)])
            await writer.drain()
        else:
            writer.write(request)
            await writer.drain()
            if phase < 0.4:
                await asyncio.sleep(generator.random() * 0.05)
            elif phase < 0.8:
                for _ in range(generator.randint(1, 30)):
                    line = await reader.readline()
                    if not line or line.startswith(b"data: [DONE]"):
                        break
            else:
                while True:
                    line = await reader.readline()
                    if not line or line.startswith(b"data: [DONE]"):
                        break
    except OSError:
        pass
    if generator.random() < 0.5:
        writer.transport.abort()
    else:
        writer.close()


async def churn(target, arguments):
    await wait_until_quiet(target)
    sequences = await target.metric("oxbow_sequences")
    before, names = process(arguments.pid), ("oxbow_sequences", "oxbow_num_requests_running", "oxbow_num_requests_waiting")
    generator, room = random.Random(1), asyncio.Semaphore(arguments.at_once)

    async def one():
        async with room:
            await leave_somewhere(target, generator)

    start = time.monotonic()
    await asyncio.gather(*(one() for _ in range(arguments.requests)))
    print("%d requests in %.1f s" % (arguments.requests, time.monotonic() - start))
    check(await wait_until_quiet(target), "the server is quiet afterwards")
    for name in names:
        value = await target.metric(name)
        print("%s %g" % (name, value) + (", before %g" % sequences if name == "oxbow_sequences" else ""))
        if name != "oxbow_sequences":
            check(value == 0, name + " is 0")
    print("cancelled: %g, memory in use: %g bytes" % (await target.metric("oxbow_requests_cancelled_total"),
                                                          await target.metric("oxbow_memory_used_bytes")))
    after = process(arguments.pid)
    if after:
        print("open files %d -> %d, resident %d -> %d KiB" % (before[0], after[0], before[1], after[1]))
        check(after[0] <= before[0], "no file descriptor is left behind")
    status, _, _ = await target.get("/health")
    check(status == 200, "/health answers")


async def send_until_answer(target, head, blocks):
    """The status line of an answer to a request that may never be read to its end."""
    reader, writer = await target.connect()
    answer = asyncio.create_task(reader.readline())
    try:
        writer.write(head)
        for block in blocks:
            if answer.done():
                break
            writer.write(block)
            await writer.drain()
            await asyncio.sleep(0)  # lets the answer in
    except OSError:
        pass
    try:
        line = await asyncio.wait_for(answer, 10)
    except (OSError, asyncio.TimeoutError):
        line = b""
    writer.transport.abort()
    return line.decode(errors="replace").strip()


async def hostile(target, arguments):
    before = process(arguments.pid)
    highest = before[1] if before else 0
    head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
    block = b"x" * 65536
    cases = [
        ("400,000 headers", head, (b"X-Name: y\r\n" * 1000 for _ in range(400)), "431"),
        ("300 MB in chunks", head + b"Transfer-Encoding: chunked\r\n\r\n",
         (b"10000\r\n" + block + b"\r\n" for _ in range(4800)), "413"),
        ("300 MB announced", head + b"Content-Length: 314572800\r\n\r\n", (block for _ in range(4800)), "413"),
        ("JSON 200,000 deep", head + b"Content-Length: 400000\r\n\r\n", [b"[" * 200_000 + b"]" * 200_000], "400"),
        ("a line without an end", b"GET /" + b"a" * 10, (block for _ in range(100)), "431"),
    ]
    for name, start, blocks, wanted in cases:
        status = await send_until_answer(target, start, blocks)
        now = process(arguments.pid)
        highest = max(highest, now[1] if now else 0)
        check(wanted in status, "%s: %s" % (name, status or "no answer"))
    slow = [await target.connect() for _ in range(200)]
    for _, writer in slow:
        writer.write(b"GET /hea")
    status, _, seconds = await target.get("/health")
    check(status == 200, "/health answers beside 200 slow senders (%.1f ms)" % (seconds * 1e3))
    for _, writer in slow:
        writer.transport.abort()
    if before:
        now = process(arguments.pid)
        highest = max(highest, now[1])
        print("resident %d KiB before, %d at most, %d now" % (before[1], highest, now[1]))
        check(highest < before[1] + 65536, "resident memory stays within 64 MiB of idle")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["stream", "churn", "hostile"])
    parser.add_argument("url")
    parser.add_argument("--connections", type=int, default=200)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--at-once", type=int, default=64)
    parser.add_argument("--pid", type=int)
    arguments = parser.parse_args()
    target = Target(arguments.url)
    asyncio.run({"stream": stream, "churn": churn, "hostile": hostile}[arguments.what](target, arguments))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
