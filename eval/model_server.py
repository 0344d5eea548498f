"""Serves one GGUF file: `model_server.py FILE CONTEXT THREADS` runs llama.cpp's OpenAI-compatible server on loopback.

Prints its base URL once it answers, and ends with its standard input, so that it does not outlive whoever started it.
"""

import os
import sys

import xllamacpp

model, context, threads = sys.argv[1:]
params = xllamacpp.CommonParams()
params.model.path = model
params.hostnames = ["127.0.0.1"]
params.port = 0  # a free one
params.n_ctx = int(context)  # no more than the model was trained with
params.n_parallel = 1
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = int(threads)
params.sampling.seed = 0
params.sampling.temp = 0.0  # the likeliest plan; a request may ask for others
try:
    server = xllamacpp.Server(params)
except RuntimeError:
    sys.exit(1)  # llama.cpp has said why
print(server.listening_address + "/v1", flush=True)
sys.stdin.buffer.read()
os._exit(0)  # an answer that is being written is of no use
