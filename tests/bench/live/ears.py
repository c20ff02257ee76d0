"""Many browsers' streams in one process. Commands come as lines of JSON, answers go back so.

{"open": N, "jobs": J}   open streams; each hears one queue, one tenant, and J workloads
{"heard": 1}             everything heard since the last time
{"lost": 1}              how many streams have ended
{"close": 1}             drop every connection without a word
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from typing import Any

EVENT = re.compile(rb"(?:event: (\w+)\n)?id: (\d+)\ndata: (\{[^\n]*\})\n\n")
COOKIE = "gpuportal-sessionid"
WAVE = 200  # connections that are begun together


class Ear(asyncio.Protocol):
    """One stream: a request, then events, each with the time at which it was read."""

    def __init__(self, number: int, request: bytes, ears: Ears) -> None:
        self.number, self.request, self.ears = number, request, ears
        self.buffer = b""
        self.open = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self.transport = transport
        transport.write(self.request)

    def data_received(self, data: bytes) -> None:
        at = time.time()
        self.buffer += data
        if not self.open.done() and b"\r\n" in self.buffer:
            self.open.set_result(int(self.buffer.split(b" ", 2)[1]))
        end = 0
        for match in EVENT.finditer(self.buffer):
            end = match.end()
            if not match[1]:
                self.ears.heard.append((self.number, int(match[2]), at, match[3].decode()))
            self.ears.events += 1
        if end:
            self.buffer = self.buffer[end:]

    def connection_lost(self, error: Exception | None) -> None:
        if not self.open.done():
            self.open.set_result(0)
        self.ears.lost += 1


class Ears:
    def __init__(self, port: int, keys: list[str], queues: int, uids: list[str]) -> None:
        self.port, self.keys, self.queues, self.uids = port, keys, queues, uids
        self.ears: list[Ear] = []
        self.heard: list[tuple[int, int, float, str]] = []
        self.events = self.lost = 0

    async def open(self, number: int, jobs: int) -> dict[str, Any]:
        began, self.events, self.lost = time.monotonic(), 0, 0
        self.ears = []
        for start in range(0, number, WAVE):
            wave = range(start, min(start + WAVE, number))
            await asyncio.gather(*(self._one(n, jobs) for n in wave))
        statuses = await asyncio.gather(*(ear.open for ear in self.ears))
        while self.events < number:
            await asyncio.sleep(0.005)
        seconds = time.monotonic() - began
        return {"seconds": seconds, "good": statuses.count(200), "of": number}

    async def _one(self, n: int, jobs: int) -> None:
        at = n % self.queues
        topics = [f"queue:lab/queue-{at}", f"tenant:team-{at}"]
        topics += [f"job:lab/{uid}" for uid in self.uids[n * jobs : (n + 1) * jobs]]
        request = (
            f"GET /live?topics={','.join(topics)}&age=0 HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n"
            f"Cookie: {COOKIE}={self.keys[n]}\r\nAccept: text/event-stream\r\n"
            "Sec-Fetch-Site: same-origin\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64) bench\r\n\r\n"
        ).encode()
        ear = Ear(n, request, self)
        self.ears.append(ear)
        loop = asyncio.get_running_loop()
        await loop.create_connection(lambda: ear, "127.0.0.1", self.port)

    def close(self) -> dict[str, Any]:
        for ear in self.ears:
            ear.transport.abort()
        self.ears = []
        return {}

    def take(self) -> dict[str, Any]:
        heard, self.heard = self.heard, []
        return {"heard": heard, "lost": self.lost}


async def main(facts: dict[str, Any]) -> None:
    ears = Ears(**facts)
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        asked = json.loads(line)
        if "open" in asked:
            answer = await ears.open(asked["open"], asked["jobs"])
        elif "lost" in asked:
            answer = {"lost": ears.lost}
        else:
            answer = ears.close() if "close" in asked else ears.take()
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.stdin.readline())))
