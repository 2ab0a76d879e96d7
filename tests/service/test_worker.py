"""The planner's process: it may die, and the service goes on."""

import asyncio
import os
import signal

import pytest

from arcbandit.service.worker import Question
from arcbandit.service.worker_client import Worker, WorkerError
from tests.service.processes import ROOT


@pytest.fixture(autouse=True)
def source(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "src"), str(ROOT)]))


@pytest.mark.slow
def test_a_process_that_dies_is_started_again(tmp_path):
    """Who was waiting for it is told; the next question starts another."""

    async def play():
        worker = Worker(str(tmp_path / "store.db"))
        assert await worker.ask(Question("ping"), 60)
        first = worker._process.pid
        os.kill(first, signal.SIGKILL)
        try:
            await worker.ask(Question("ping"), 60)
        except WorkerError:
            assert await worker.ask(Question("ping"), 60)
        assert worker._process.pid != first
        await worker.close()

    asyncio.run(play())


def test_answers_go_to_those_who_asked(tmp_path):
    """One who stops waiting leaves his answer behind, and the next does not get it."""
    slow = "import sys,time,struct,msgspec\n"
    slow += "r=sys.stdin.buffer\n"
    slow += "while head:=r.read(4):\n"
    slow += " q=msgspec.json.decode(r.read(struct.unpack('>I',head)[0]))\n"
    slow += " time.sleep(0.3 if q['ask']=='slow' else 0)\n"
    slow += " d=msgspec.msgpack.encode({'value':q['ask']})\n"
    slow += " sys.stdout.buffer.write(struct.pack('>I',len(d))+d); sys.stdout.buffer.flush()\n"

    async def play():
        import sys

        worker = Worker("", [sys.executable, "-c", slow])
        assert await worker.ask(Question("first"), 60) == "first"
        with pytest.raises(TimeoutError):
            await worker.ask(Question("slow"), 0.05)
        assert await worker.ask(Question("quick"), 60) == "quick"
        answers = await asyncio.gather(*(worker.ask(Question(str(number)), 60) for number in range(5)))
        assert answers == ["0", "1", "2", "3", "4"]
        await worker.close()

    asyncio.run(play())


SILENT = "import sys\nwhile sys.stdin.buffer.read(1):\n pass\n"


def test_a_process_that_was_being_started_is_ended_too(tmp_path):
    """Nobody would end it later; and none is started any more."""

    async def play():
        import sys

        worker = Worker("", [sys.executable, "-c", SILENT])
        asked = asyncio.ensure_future(worker.ask(Question("ping"), 60))
        await asyncio.sleep(0)
        await asyncio.sleep(0)  # it is being started now
        assert worker._process is None
        await worker.close()
        with pytest.raises(WorkerError, match="was ended"):
            await asked
        assert worker._process is None
        with pytest.raises(WorkerError, match="was ended"):
            await worker.ask(Question("ping"), 60)

    asyncio.run(play())


def test_a_planner_that_hangs_is_started_again(tmp_path, monkeypatch):
    """The plan in force stays, and whoever looks is told why."""
    from arcbandit.service import upkeep
    from tests.service.served import serving

    async def play():
        import sys

        monkeypatch.setattr(upkeep, "PLAN_SECONDS", 0.2)
        async with serving(tmp_path) as served:
            worker = Worker("", [sys.executable, "-c", SILENT])
            served.upkeep._planning = worker
            await served.upkeep.plan_once("films")
            assert worker._process is None
            plan = (await served.get("/v1/campaigns/films/plan")).json()
            assert plan["is_stale"]
            assert "no answer for 0.2 seconds" in plan["warnings"][0]
            await worker.close()

    asyncio.run(play())


@pytest.mark.skipif(os.name == "nt", reason="Windows has neither groups of processes nor niceness")
@pytest.mark.slow
def test_the_planner_stands_back(tmp_path):
    """It is as nice as can be, in the session of the service, where alone that counts, and out of reach of Ctrl-C."""

    async def play():
        worker = Worker(str(tmp_path / "store.db"))
        await worker.ask(Question("ping"), 60)
        planner = worker._process.pid
        try:
            assert os.getpriority(os.PRIO_PROCESS, planner) == 19
            assert os.getsid(planner) == os.getsid(0)
            assert os.getpgid(planner) == planner
        finally:
            await worker.close()

    asyncio.run(play())
