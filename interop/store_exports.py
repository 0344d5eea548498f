#!/usr/bin/env python3
"""Exports runs to an S3 server (moto) and to a collector of OpenTelemetry, and fails unless all of it arrives, once.

Run by `exports.py`, in an environment that has moto, polars and `opentelemetry-proto`. Prints a row of its table a line, as
JSON.
"""

import base64
import importlib.metadata
import json
import logging
import os
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import boto3
import polars
from google.protobuf import json_format
from moto.server import ThreadedMotoServer
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2

LIST = "_cuebook-export.jsonl"
SECRET = "not-to-be-seen"
KEYS = {"AWS_ACCESS_KEY_ID": "exporter", "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": "us-east-1"}
IDS = ("traceId", "spanId", "parentSpanId")


def say(*row: str) -> None:
    print(json.dumps(row), flush=True)


def command(cuebook: str, runs: str, to: str, out: str) -> list[str]:
    return [cuebook, "export", runs, "--to", to, "--redact", "none", "--out", out, "--json"]


def export(arguments: list[str], environment: dict[str, str]) -> dict:
    environment = {**os.environ, **environment}
    ended = subprocess.run(arguments, stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment, timeout=120)
    assert ended.returncode == 0, ended
    return json.loads(ended.stdout)


def objects(bucket: object, prefix: str) -> dict[str, bytes]:
    found = {one.key.removeprefix(prefix): one.get()["Body"].read() for one in bucket.objects.filter(Prefix=prefix)}
    return {name: content for name, content in found.items() if name != LIST}


def files(folder: Path) -> dict[str, bytes]:
    found = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    return {name: content for name, content in found.items() if name != LIST}


def to_s3(cuebook: str, runs: str, out: Path) -> None:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://127.0.0.1:{port}"
    # Who is killed leaves its folder.
    (out.parent / "tmp").mkdir()
    environment = {**KEYS, "AWS_ENDPOINT_URL": endpoint, "TMPDIR": str(out.parent / "tmp")}
    keys = {"aws_access_key_id": "exporter", "aws_secret_access_key": SECRET, "region_name": "us-east-1"}
    bucket = boto3.resource("s3", endpoint_url=endpoint, **keys).Bucket("exports")
    bucket.create()
    total = killed = 0
    for to in ("parquet", "hf", "playwright-trace"):
        arguments = command(cuebook, runs, to, f"s3://exports/{to}/v1")
        # Killed when so many objects are there; what it leaves is mended.
        for count in (1, 2, 4):
            child = subprocess.Popen(
                arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, **environment}
            )
            while child.poll() is None and len(list(bucket.objects.filter(Prefix=f"{to}/v1/"))) < count:
                time.sleep(0.005)
            killed += child.poll() is None
            child.kill()
            child.wait()
        export(arguments, environment)
        there = objects(bucket, f"{to}/v1/")
        assert there == files(out / to), (to, sorted(there), sorted(files(out / to)))
        again = export(arguments, environment)
        assert (again["written"], again["kept"]) == ([], len(there)), again
        total += len(there)
    options = {**keys, "aws_endpoint_url": endpoint, "aws_allow_http": "true", "aws_region": "us-east-1"}
    options.pop("region_name")
    table = polars.scan_parquet("s3://exports/parquet/v1/steps/**/*.parquet", storage_options=options).collect()
    server.stop()
    here = polars.scan_parquet(f"{out}/parquet/steps/**/*.parquet").collect()
    assert table.height == here.height > 0, (table.height, here.height)
    refused = subprocess.run(
        command(cuebook, runs, "har", "s3://exports/har"), capture_output=True, text=True, env={**os.environ, **environment}
    )
    assert refused.returncode == 3 and SECRET not in refused.stdout + refused.stderr, refused
    version = importlib.metadata.version("moto")
    say(f"moto {version}", "S3", f"{total} files as in folders after {killed} kills; polars reads {table.height} steps from it")


def request(text: str) -> trace_service_pb2.ExportTraceServiceRequest:
    """OTLP in JSON has ids in hexadecimal, where the JSON of protobuf has base64. What it does not know is an error."""

    def as_protobuf(value: object) -> object:
        if isinstance(value, list):
            return [as_protobuf(item) for item in value]
        if not isinstance(value, dict):
            return value
        encoded = {key: base64.b64encode(bytes.fromhex(value[key])).decode() for key in IDS if key in value}
        return {key: encoded.get(key, as_protobuf(item)) for key, item in value.items()}

    return json_format.ParseDict(as_protobuf(json.loads(text)), trace_service_pb2.ExportTraceServiceRequest())


def spans(requests: list) -> list:
    return [span for one in requests for all in one.resource_spans for scope in all.scope_spans for span in scope.spans]


def to_collector(cuebook: str, runs: str, out: Path) -> None:
    received = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"])).decode()
            assert (self.path, self.headers["content-type"]) == ("/v1/traces", "application/json")
            received.append(request(body))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Collector)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    export(command(cuebook, runs, "otlp", f"http://127.0.0.1:{server.server_port}"), {})
    server.shutdown()
    written = [request(line) for name in sorted((out / "otlp").glob("*.otlp.jsonl")) for line in name.read_text().splitlines()]
    seen = {span.span_id: span for span in spans(written)}
    assert {span.span_id for span in spans(received)} == set(seen) and len(seen) == len(spans(received)), seen
    roots = [span for span in seen.values() if not span.parent_span_id]
    for span in seen.values():
        assert (len(span.trace_id), len(span.span_id)) == (16, 8), span
        parent = seen.get(span.parent_span_id, span)
        assert parent.trace_id == span.trace_id, span
        assert parent.start_time_unix_nano <= span.start_time_unix_nano <= span.end_time_unix_nano, span
        assert span.end_time_unix_nano <= parent.end_time_unix_nano, span
    version = importlib.metadata.version("opentelemetry-proto")
    say(f"opentelemetry-proto {version}", "OTLP", f"{len(seen)} spans in {len(roots)} traces, from files and by HTTP")


if __name__ == "__main__":
    to_s3(*sys.argv[1:3], Path(sys.argv[3]))
    to_collector(*sys.argv[1:3], Path(sys.argv[3]))
