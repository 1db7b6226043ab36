"""Sends requests, one after the other: `client.py PORT REQUESTS [EXIT_CODE]`; -1 requests: until the server is gone."""

import os
import sys
import urllib.request

sent = 0
while sent != int(sys.argv[2]):
    urllib.request.urlopen("http://127.0.0.1:%s/%d" % (sys.argv[1], sent)).read()
    sent += 1
ours = [name for name in os.environ if "INJECTION64" in name or name.startswith("RANGEFINDER_TRACE")]
print("sent", sent, "with", ours, flush=True)
if len(sys.argv) > 3:
    print("two requests failed", file=sys.stderr)
    sys.exit(int(sys.argv[3]))
