"""A dataset in an object store: a server that speaks S3 (moto), whose packages are at $MOTO."""

import os
import socket
import subprocess
import sys
import time
import unittest
import urllib.request

import obstore

from scene import FLEET, FleetCase, fleet

BUCKET = "runs"


def free_port():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return server.getsockname()[1]


class ObjectStore(FleetCase):
    @classmethod
    def setUpClass(cls):
        port = free_port()
        # Its packages and ours are apart.
        env = dict(os.environ, PYTHONPATH=os.environ["MOTO"])
        argv = [sys.executable, "-m", "moto.server", "-p", str(port)]
        cls.server = subprocess.Popen(argv, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        cls.addClassCleanup(cls.server.wait)
        cls.addClassCleanup(cls.server.terminate)
        cls.endpoint = "http://127.0.0.1:%d" % port
        cls.env = {
            "AWS_ENDPOINT": cls.endpoint,
            "AWS_ALLOW_HTTP": "true",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_REGION": "us-east-1",
        }
        for _ in range(600):
            try:
                urllib.request.urlopen(urllib.request.Request("%s/%s" % (cls.endpoint, BUCKET), method="PUT")).close()
                break
            except OSError:
                time.sleep(0.1)
        config = {"endpoint": cls.endpoint, "allow_http": "true", "access_key_id": "test", "secret_access_key": "test"}
        cls.store = obstore.store.S3Store(BUCKET, region="us-east-1", **config)
        for folder, _, names in os.walk(FLEET):
            for name in names:
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    obstore.put(cls.store, "a/fleet/" + os.path.relpath(path, FLEET), file.read())

    def rows_there(self, question, place="s3://runs/a/fleet"):
        return self.text("query", question, place, "--json", env=self.env)

    def test_a_store_answers_as_a_directory_does(self):
        for question in ("top-kernels", "kernel-times", "throttling"):
            here = self.text("query", question, FLEET, "--json")
            self.assertIn("[{", here)
            self.assertEqual(self.rows_there(question), here)
        self.assertEqual(self.rows_there("top-kernels", "s3://runs/a/fleet/"), self.text("query", "top-kernels", FLEET, "--json"))
        plan = self.text("query", "EXPLAIN SELECT count(*) FROM runs WHERE date = '2026-01-02'", "s3://runs/a/fleet", env=self.env)
        self.assertIn("Scanning Files: 0/9", plan)

    def test_what_cannot_be_trusted_is_not_answered(self):
        name = "a/fleet/kernels/date=2026-01-01/cut.parquet"
        obstore.put(self.store, name, b"PAR1 and no more")
        self.addCleanup(obstore.delete, self.store, name)
        said = self.refused("query", "top-kernels", "s3://runs/a/fleet", env=self.env)
        self.assertIn("cannot read `s3://runs/%s`: it is damaged, or not a Parquet file" % name, said)
        self.assertEqual(fleet("query", "throttling", "s3://runs/a/fleet", env=self.env).returncode, 0)

    def test_what_is_not_there_is_told(self):
        said = self.refused("query", "SELECT 1 AS x", "s3://runs/nowhere", env=self.env)
        self.assertIn("`s3://runs/nowhere` is not a dataset: it has no file `rangefinder-dataset`", said)
        nobody = dict(self.env, AWS_ENDPOINT="http://127.0.0.1:9")
        said = self.refused("query", "SELECT 1 AS x", "s3://runs/a", env=nobody)
        self.assertIn("cannot read `s3://runs/a`: ", said)
        self.assertIn("\nhint: are AWS_ACCESS_KEY_ID", said)
        # Nothing but the dataset is read there, either.
        obstore.put(self.store, "secret.csv", b"a,b\n1,2\n")
        self.refused("query", "SELECT * FROM read_csv('s3://runs/secret.csv')", "s3://runs/a/fleet", env=self.env)
        self.refused("compact", "s3://runs/a/fleet", os.path.join(self.folder(), "x"), env=self.env, code=2)
        for wrong in ("s3://", "s3://runs/a?x=1"):
            self.refused("query", "SELECT 1 AS x", wrong, env=self.env)


if __name__ == "__main__":
    unittest.main()
