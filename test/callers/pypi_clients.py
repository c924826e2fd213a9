"""Runs one client of PyPI against a service, with one call, 100 in series or 100 at once.

Whoever sleeps moves the clock of the service instead, once nobody works: what waits for an hour takes no time.

    python pypi_clients.py CLIENT SCENARIO URL KEY NOW
"""

import asyncio
import heapq
import sys
import threading
import time
import urllib.request

CLIENT, SCENARIO, URL, KEY, NOW = sys.argv[1:]
HEADERS = {"Authorization": f"Bearer {KEY}"}

lock = threading.RLock()
working = 0
sleepers = []
now = float(NOW)


def move_clock():
    """Wakes the next sleeper if nobody works. Call it with the lock."""
    global now, working
    if working > 0 or not sleepers:
        return
    at, _, event = heapq.heappop(sleepers)
    now = max(now, at)
    urllib.request.urlopen(f"{URL}/clock?to={now * 1000}").read()
    working += 1
    event.set()


def sleep(seconds):
    global working
    event = threading.Event()
    with lock:
        heapq.heappush(sleepers, (now + max(0, seconds), id(event), event))
        working -= 1
        move_clock()
    event.wait()


async def async_sleep(seconds, result=None):
    sleep(seconds)
    return result


time.sleep = sleep
time.time = lambda: now
asyncio.sleep = async_sleep


def urllib3_requests():
    import requests
    from requests.adapters import HTTPAdapter
    from urllib3.util import Retry

    session = requests.Session()
    # DELETE is among the methods that it repeats unless it is told otherwise.
    session.mount("http://", HTTPAdapter(max_retries=Retry(3), pool_maxsize=100))
    return lambda method, url: session.request(method, url, headers=HEADERS)


def niquests():
    import niquests

    session = niquests.Session(retries=niquests.RetryConfiguration(3), pool_maxsize=100)
    return lambda method, url: session.request(method, url, headers=HEADERS)


def httpx_retries():
    import httpx
    from httpx_retries import RetryTransport

    client = httpx.Client(transport=RetryTransport(httpx.HTTPTransport()), timeout=None)
    return lambda method, url: client.request(method, url, headers=HEADERS)


def azure_core():
    from azure.core import PipelineClient
    from azure.core.pipeline.policies import RetryPolicy
    from azure.core.rest import HttpRequest

    client = PipelineClient(URL, policies=[RetryPolicy(retry_total=3)])
    return lambda method, url: client.send_request(HttpRequest(method, url, headers=HEADERS))


def stamina_httpx():
    import httpx
    import stamina

    client = httpx.Client(timeout=None)

    @stamina.retry(on=httpx.HTTPStatusError, attempts=4, timeout=None)
    def call(method, url):
        client.request(method, url, headers=HEADERS).raise_for_status()

    return call


def stamina_httpx_fixed():
    import httpx
    import stamina

    client = httpx.Client(timeout=None)

    def wait(error):
        is_told = isinstance(error, httpx.HTTPStatusError) and "retry-after" in error.response.headers
        return is_told and float(error.response.headers["retry-after"])

    @stamina.retry(on=wait, attempts=4, timeout=None)
    def call(method, url):
        client.request(method, url, headers=HEADERS).raise_for_status()

    return call


def aiohttp_retry_429_fixed():
    import aiohttp_retry as module

    class AsTold(module.ExponentialRetry):
        def get_timeout(self, attempt, response=None):
            return float(response.headers.get("retry-after", 1)) if response else 1

    return aiohttp_retry(options=AsTold(attempts=3, statuses={429}))


def aiohttp_retry_429():
    return aiohttp_retry(statuses={429})


def aiohttp_retry(statuses=None, options=None):
    import aiohttp_retry

    options = options or aiohttp_retry.ExponentialRetry(attempts=3, statuses=statuses)

    async def call(method, url):
        async with aiohttp_retry.RetryClient(retry_options=options) as client:
            async with client.request(method, url, headers=HEADERS) as response:
                await response.read()

    return lambda method, url: asyncio.run(call(method, url))


def main():
    send = globals()[CLIENT]()

    def call(method="GET", path="/v1/store/orders"):
        try:
            send(method, URL + path)
        except Exception:
            pass

    def work(run):
        global working
        run()
        with lock:
            working -= 1
            move_clock()

    def series():
        for _ in range(100):
            call()

    runs = {
        "get": [lambda: call("GET", "/429/told")],
        "delete": [lambda: call("DELETE", "/429/told")],
        "untold": [lambda: call("GET", "/429/untold")],
        "series": [series],
        "parallel": [call] * 100,
    }[SCENARIO]
    global working
    working = len(runs)
    threads = [threading.Thread(target=work, args=(run,)) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


main()
