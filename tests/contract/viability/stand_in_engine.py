"""A stand-in for a serving engine: speaks as one does, and fails as one does.

stand_in_engine.py MODE [--port N] [--lora-modules NAME=PATH] [anything else]
"""

import json
import os
import signal
import socket
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MODE = sys.argv[1]
PORT = int(sys.argv[sys.argv.index("--port") + 1])
ADAPTERS = [w.partition("=")[0] for w in sys.argv if "=/" in w]
REFUSED = """\
(EngineCore_0 pid=7) ERROR 08-25 12:00:00 [core.py:700] EngineCore failed to start.
(EngineCore_0 pid=7) ERROR 08-25 12:00:00 [core.py:700] Traceback (most recent call last):
(EngineCore_0 pid=7) ERROR 08-25 12:00:00 [core.py:700]   File "core.py", line 691, in run
(EngineCore_0 pid=7) ERROR 08-25 12:00:00 [core.py:700]     engine_core = EngineCoreProc()
(EngineCore_0 pid=7) ERROR 08-25 12:00:00 [core.py:700] AttributeError: To support LoRA for MoE
(EngineCore_0 pid=7) ERROR 08-25 12:00:00 [core.py:700]                'get_expert_mapping' must
Traceback (most recent call last):
  File "api_server.py", line 1, in <module>
RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}
"""
MEMORY = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has\n"


def tell(text):
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


class Engine(BaseHTTPRequestHandler):
    completions = 0

    def log_message(self, *_):
        pass

    def say(self, status, body):
        raw = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def do_GET(self):
        if self.path == "/health":
            if MODE == "unwell":
                self.say(500, {"error": "engine is dead"})
            elif MODE == "loading":
                self.say(503, {})
            elif MODE == "drip":
                self.drip()
            else:
                self.say(200, {})
        elif self.path == "/v1/models":
            names = ["stand-in", *ADAPTERS]
            self.say(200, {"object": "list", "data": [{"id": name} for name in names]})
        elif self.path == "/version":
            self.say(200, {"version": "1.2.3"})
        else:
            self.say(404, {})

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if MODE == "errors":
            self.say(500, {"error": {"message": f"no kernel for {asked['model']}"}})
            return
        if MODE == "keyed" and self.headers.get("Authorization") != "Bearer s3cret":
            self.say(401, {"error": "Unauthorized"})
            return
        self.say(200, {"choices": [{"text": " Lisbon", "index": 0}]})
        if MODE == "dies":
            threading.Timer(0.2, lambda: os._exit(0)).start()

    def drip(self):
        self.send_response(200)
        self.send_header("Content-Length", "100000")
        self.end_headers()
        for _ in range(1000):
            self.wfile.write(b" ")
            time.sleep(0.2)


def serve():
    server = ThreadingHTTPServer(("127.0.0.1", PORT), Engine)
    tell(f"INFO:     Uvicorn running on http://127.0.0.1:{PORT}")
    server.serve_forever()


if MODE == "refuses":
    tell(REFUSED)
    sys.exit(1)
if MODE == "memory":
    tell(MEMORY)
    sys.exit(1)
if MODE == "killed":
    os.kill(os.getpid(), signal.SIGKILL)
if MODE == "killed-inside":
    sys.exit(137)
if MODE == "ends":
    sys.exit(0)
if MODE == "hangs":
    tell("INFO: loading weights")
    time.sleep(600)
if MODE == "deaf":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
if MODE == "bare-front":
    os.execve(sys.executable, [sys.executable, __file__, "serves", *sys.argv[2:]], {})
if MODE in ("forks", "daemon", "bare"):
    if os.fork() == 0:
        if MODE != "forks":
            os.setsid()
            if os.fork():
                os._exit(0)
        if MODE == "bare":  # as ``env -i setsid`` does
            again = [sys.executable, __file__, "serves", *sys.argv[2:]]
            os.execve(sys.executable, again, {})
        serve()
    if MODE != "forks":
        sys.exit(0)
    time.sleep(600)
if MODE == "outside":  # as ``docker run -d`` does: somebody else is asked to start it
    asking = socket.create_connection(("127.0.0.1", int(sys.argv[sys.argv.index("--by") + 1])))
    asking.sendall(str(PORT).encode())
    asking.recv(1)
    sys.exit(0)
if MODE == "fails-behind":
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(600)
    sys.exit(3)
if MODE == "slow":
    time.sleep(1.5)
serve()
