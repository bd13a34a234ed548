"""Who can reach a cluster: nobody from outside, and with certificates nobody without one."""

import subprocess

import psutil
import pytest

from bennafusi.files import RunError
from tests.runs.cluster import TestCluster, environ
from tests.runs.common import TOY, finished, new_run, results

RUN = {"steps": 40, "chunk": 4}


def test_our_own_cluster_listens_on_loopback_alone_and_ends_with_us(tmp_path, monkeypatch):
    from rich.console import Console

    from bennafusi.runs.dask_clusters import Cluster, loopback
    from bennafusi.runs.dask_engine import DaskEngine
    from bennafusi.runs.engine import EngineError
    from bennafusi.runs.placing import place_all

    for name, value in environ().items():
        monkeypatch.setenv(name, value)
    ours = psutil.Process()
    before = {process.pid for process in ours.children(recursive=True)}
    folders = [new_run(tmp_path, seed, **RUN) for seed in range(3)]
    with loopback(workers=2) as cluster:
        assert cluster.address.startswith("tls://127.0.0.1:")
        with pytest.raises(EngineError):  # another user of this machine has no certificate
            Cluster(cluster.address.replace("tls", "tcp")).client(2)
        with pytest.raises(EngineError):
            Cluster(cluster.address).client(2)
        processes = [ours, *ours.children(recursive=True)]
        listening = {
            socket.laddr.ip
            for process in processes
            for socket in process.net_connections()
            if socket.status == "LISTEN"
        }
        outcome = place_all(folders, DaskEngine(TOY[1:], cluster), Console(quiet=True))
    assert listening == {"127.0.0.1"}
    assert outcome == (0, 3, 0, [], "")
    left = {
        p.pid for p in ours.children(recursive=True) if "resource_tracker" not in str(p.cmdline())
    }
    assert left <= before
    for seed, folder in enumerate(folders):
        assert results(folder) == results(finished(tmp_path, seed, **RUN))


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate that is its own authority."""
    where = tmp_path_factory.mktemp("tls")
    cert, key = where / "cert.pem", where / "key.pem"
    words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    words += ["-subj", "/CN=test", "-keyout"]
    subprocess.run([*words, key, "-out", cert], check=True, capture_output=True)
    return str(cert), str(key)


def test_a_cluster_with_certificates(tmp_path, certificate, monkeypatch):
    from rich.console import Console

    from bennafusi.runs.dask_clusters import Cluster, certificates
    from bennafusi.runs.dask_engine import DaskEngine
    from bennafusi.runs.engine import EngineError
    from bennafusi.runs.placing import place_all

    cert, key = certificate
    words = ("--tls-ca-file", cert, "--tls-cert", cert, "--tls-key", key)
    cluster = TestCluster(*words, protocol="tls")
    try:
        cluster.worker()
        with pytest.raises(EngineError, match="no Dask scheduler at tcp"):
            Cluster(cluster.address.replace("tls", "tcp")).client(1.0)
        secure = Cluster(cluster.address, security=certificates(cert, cert, key))
        engine = DaskEngine(TOY[1:], secure)
        folder = new_run(tmp_path, **RUN)
        assert place_all([folder], engine, Console(quiet=True)) == (0, 1, 0, [], "")
    finally:
        cluster.close()
    assert results(folder) == results(finished(tmp_path, **RUN))


def test_a_worker_starts_nothing_where_no_run_is(tmp_path, monkeypatch):
    from bennafusi.runs import dask_side

    def begin(*_):
        raise AssertionError("it must not be started")

    monkeypatch.setattr(dask_side, "begin", begin)
    monkeypatch.setattr("distributed.get_worker", lambda: None)
    folder = new_run(tmp_path, **RUN)
    folder.config.write_text("{")
    (tmp_path / "other").mkdir()
    for path, message in ((tmp_path / "other", "not the folder of a run"), (folder.path, "config")):
        with pytest.raises(RunError, match=message):
            dask_side.attend(str(path), ["-c", "pass"])
    assert not list((tmp_path / "other").iterdir())
