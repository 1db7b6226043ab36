"""A server of one process: `server.py PORT [SECONDS]`. It loads for a while, then answers; after SECONDS it ends."""

import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from rangefinder import request, stage


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path != "/health":
            with request(self.path) as this:
                this.scheduled()
                for _ in range(3):
                    with stage("step"):
                        time.sleep(0.002)
                    this.token()
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


for _ in range(5):
    with stage("load weights"):
        time.sleep(0.02)
server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
if len(sys.argv) > 2:
    threading.Timer(float(sys.argv[2]), server.shutdown).start()
print("startup complete", flush=True)
server.serve_forever()
